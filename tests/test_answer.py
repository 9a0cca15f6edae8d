"""Every sentence of an answer, and that an answer is plain data."""

import json
from dataclasses import asdict, replace

import pytest

from nablasso import answer as words
from nablasso.answer import (
    Accuracy,
    Answer,
    Certificate,
    Column,
    Interaction,
    Replacement,
    Rival,
)
from nablasso.data.cells import listed


def column(name, evidence=9.0, **more):
    return Column(name, selected=True, strength=1.0, evidence=evidence, certified=True, **more)


def answer(*columns, **more):
    rest = tuple(Column(name, selected=False) for name in "xyz"[: 3 - len(columns)])
    about = {
        "target": "price",
        "method": "NablassoRegressor",
        "task": "regression",
        "n_rows": 500,
        "n_searched": 500,
        "status": "clear",
    }
    return Answer(columns=(*columns, *rest), **about | more)


@pytest.mark.parametrize(
    ("found", "headline"),
    [
        (
            answer(column("a"), column("b")),
            "2 of 3 columns matter for price (500 rows): a, b.",
        ),
        (answer(column("a")), "1 of 3 columns matters for price (500 rows): a."),
        (answer(), "None of the 3 columns was found to matter for price (500 rows)."),
        (
            answer(column("a", 2.0), column("b", 1.0), status="too few rows"),
            "No reliable answer: 2 of 3 columns were selected (a, b), but 500 rows are too few to "
            "be sure of them.",
        ),
        (
            answer(column("a"), status="interrupted"),
            "Interrupted, so this is provisional: 1 of 3 columns matters for price (500 rows): a.",
        ),
        (answer(column("a", 0.0)), "All are kept as asked: a."),
    ],
)
def test_the_first_sentence(found, headline):
    assert found.headline() == headline


def test_details_are_how_much_and_how_sure():
    assert column("a").detail == "1.00, 9 nats"
    assert column("a", share=0.314, p_value=0.02).detail == "31%, p = 0.02"
    assert answer(column("a")).headline(detailed=True).endswith(": a (1.00, 9 nats).")


def test_one_weak_column_does_not_brand_the_whole_answer():
    """Issue: one weak column made it "too few rows"."""
    found = answer(column("a"), column("b", 2.9))
    assert found.headline() == "2 of 3 columns matter for price (500 rows): a, b."
    told = found.weak_sentence()
    assert told.startswith("Weakly supported by 500 rows (under 3 nats): b;")
    assert "The other column stands." in told
    assert answer(column("a")).weak_sentence() == ""
    assert column("a", None).weak is False  # kept: nobody asked
    assert column("a", 1.0, p_value=0.01).weak is False


def test_replaceable_columns_are_said_with_what_replaces_them_and_the_rows():
    told = Replacement("together", ("cement", "ash"), r2=0.86)
    swap = Replacement("alternative", ("flipper",), ours=0.994, theirs=0.995)
    twin = Replacement("twin", ("copy",))
    found = answer(
        column("slag", replaceable=(told,)),
        column("island", replaceable=(swap, twin)),
        task="classification",
        status="replaceable",
    )
    assert found.replacement_sentences() == [
        "slag is replaceable: cement, ash together tell 86% of it (500 rows).",
        "island could be replaced by flipper (0.995) or copy (a near copy); accuracy of left-out "
        "rows with island: 0.994 (500 rows).",
    ]
    assert "add rows in which they differ" in " ".join(found.remedies())
    assert [row[-1] for row in found.table()[1]] == ["2 others together", "flipper, copy"]


def test_a_set_that_another_one_matches_is_said():
    near = answer(column("a"), rivals=(Rival(("b", "c"), 1.2),))
    assert near.rival_sentences() == ["Nearly as good on 500 rows: b, c (behind by 1.2 nats)."]
    nothing = answer(column("a"), rivals=(Rival((), 0.0),))
    assert "no column at all" in nothing.rival_sentences()[0]
    assert answer(column("a"), rivals=(Rival(("b",), 3.1),)).rival_sentences() == []
    cheaper = answer(column("a"), rivals=(Rival(("b",), -1.0),))  # refused by left-out rows
    assert cheaper.rival_sentences() == []


def test_accuracy_of_numbers_and_of_classes():
    numbers = Accuracy(500, "each of 500 rows left out", 0.87, 3.21, 0.36)
    assert numbers.sentence("price") == (
        "R2 0.870, typical error 3.21 in price (0.36 of its sd); each of 500 rows left out."
    )
    classes = Accuracy(
        99, "how", r2=0.9, accuracy=0.96, guess=0.44, log_loss=0.112, auc=0.991
    ).sentence("kind")
    assert classes == (
        "96% of left-out rows classified right (always the commonest class: 44%), log-loss 0.112, "
        "AUC 0.991; how."
    )
    assert "R2" not in classes


@pytest.mark.parametrize(
    ("dropped", "told"),
    [
        ({"kind": "constant"}, "x has one value in all rows: it can explain nothing."),
        ({"reason": "screened"}, "x was left out by the screening"),
        ({}, "x was left out: price is explained without it (500 rows)."),
        ({"adds": 0.0, "costs": 2.0}, "it adds nothing to the evidence (500 rows)."),
        (
            {"adds": 1.5, "costs": 2.0, "scores": (0.831, 0.834)},
            "x was left out: it would add 1.5 nats of evidence, less than the 2.0 that choosing it "
            "costs (500 rows). R2 of left-out rows: 0.831 without it, 0.834 with it.",
        ),
        ({"adds": 9.0, "costs": 2.0}, "but left-out rows did not clearly need it (500 rows)."),
    ],
)
def test_a_dropped_column_says_why_and_what_it_would_add(dropped, told):
    found = answer(column("a"))
    out = replace(found.column("x"), **dropped)
    assert told in replace(found, columns=(found.columns[0], out)).dropped_sentence("x")


def test_a_dropped_column_names_whom_it_could_replace():
    swap = Replacement("alternative", ("x",), ours=0.9, theirs=0.89)
    found = answer(column("a", replaceable=(swap,)))
    assert "a could be replaced by x (0.890)" in found.dropped_sentence("x")
    assert "a could" not in found.dropped_sentence("y")


@pytest.mark.parametrize(
    ("sentence", "told"),
    [
        (
            words.said("tails", degrees=2.0, n_small=7),
            "There are outliers: noise with 2 degrees of freedom, in which 7 rows count less than "
            "half.",
        ),
        (
            words.said("counts", warp="log(y + 1)"),
            "The target holds counts: log(y + 1) is explained.",
        ),
        (
            words.said("skewed", warp="log(y)"),
            "The target is skewed: log(y) is explained.",
        ),
        (
            words.said("uneven", factor=2.5),
            "its level differs by a factor of 2.5: quiet rows count",
        ),
        (
            words.said("serial", correlation=0.9),
            "Rows are serially correlated (0.9 from one to the next",
        ),
    ],
)
def test_what_was_noticed_what_was_done_and_what_it_bought(sentence, told):
    assert told in sentence


def test_interactions_are_the_same_numbers_everywhere():
    pairs = (Interaction(("a", "b"), 0.123456789), Interaction(("a", "c"), 0.04))
    found = answer(column("a"), column("b"), column("c"), interactions=pairs)
    assert found.interaction_sentence() == "Strongest: a x b (12%), a x c (4.0%)."
    content = found.to_json()["interactions"]
    assert [(tuple(one["columns"]), one["share"]) for one in content] == [
        (one.columns, one.share) for one in pairs
    ]


def test_an_answer_is_plain_data_and_its_table_holds_what_is_known():
    certificate = Certificate("the problem", 1e-9, 1e-10, 1, 3, parameters={"alpha": 0.1234})
    found = answer(
        column("a", share=0.5, low=0.42, high=0.6, slope=-1.25, direction="falls"),
        certificate=certificate,
        accuracy=Accuracy(500, "how", 0.5),
    )
    content = json.loads(json.dumps(found.to_json(), allow_nan=False))
    assert content["selected"][0] == json.loads(json.dumps(asdict(found.columns[0])))
    assert content["left_out"][0]["why"] == found.dropped_sentence("x")
    headers, rows = found.table()
    assert headers == ["Column", "Share", "Slope", "Shape", "Nats"]
    assert rows == [["a", "50% (42% to 60%)", "-1.25", "falls", "9"]]
    assert all(f"{name}: " in found.legend() for name in ("Share", "Slope", "Nats"))
    unproven = replace(found, columns=(replace(found.columns[0], certified=False),))
    assert unproven.table()[0][-1] == "Certified"  # told where it is not so for all
    assert unproven.table()[1][0][-1] == "no"
    assert certificate.sentence() == (
        "the problem, duality gap 1.0e-09 (1.0e-10 of the objective at zero), which proves 1 of 3 "
        "columns."
    )
    assert certificate.settings() == "alpha 0.123"
    assert found.summary().splitlines()[0] == found.headline(detailed=True)


def test_p_values_take_the_place_of_nats():
    headers, _ = answer(column("a", p_value=0.01)).table()
    assert "p-value" in headers
    assert "Nats" not in headers


def test_small_words():
    assert listed(["a", "b", "c"], 2) == "a, b and 1 more"
    assert [words.number(v) for v in (0.0, 12345.6, 0.123456, 1e-5)] == [
        "0",
        "12346",
        "0.123",
        "1.00e-05",
    ]
    assert [words.number(v, 2) for v in (1.234, 0.0123, 0.001)] == ["1.23", "0.01", "0.001"]
    assert words.short_kernel("Gaussian(a=0.123456)") == "Gaussian(a=0.123)"
    assert words.short_kernel("AdditivePower(centre=array([1]))") == "AdditivePower"
    assert [words.percent(v) for v in (0.5, 0.0123, None)] == ["50%", "1.2%", ""]
