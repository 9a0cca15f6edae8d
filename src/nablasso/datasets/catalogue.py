"""What is known about the real tables: shape, target, where to find them, and a checksum."""

from __future__ import annotations

from typing import NamedTuple


class Facts(NamedTuple):
    """One table. ``moments`` are mean and deviation of a numeric target, None for classes.

    ``openml`` is the number of a copy on OpenML, None where no equal copy is known; ``digest`` the
    SHA-256 of the file ``<name>.csv.gz``.
    """

    name: str
    what: str
    n_samples: int
    n_features: int
    moments: tuple[float, float] | None
    openml: int | None
    digest: str


TABLES = (
    Facts(
        "airfoil",
        "NASA airfoil self-noise, sound pressure in decibels",
        1503,
        5,
        (124.836, 6.89636),
        44957,
        "f969266c9f734b78f30e48bfe0cf86d1da6e6db3a55fae8dff101ab7e3a7ce0c",
    ),
    Facts(
        "bike_hour",
        "Capital bike sharing, rentals per hour",
        17379,
        12,
        (189.463, 181.382),
        None,
        "0b603a6081967bb12b420ab71d616a0627907a33d6ce2c5f401f30736d2fdc36",
    ),
    Facts(
        "boston",
        "Boston housing, median value in 1000 dollars; holds the contested column B",
        506,
        13,
        (22.5328, 9.18801),
        531,
        "70588e31c8b2da7f914d4e17acab0ac5484d3aa881415e647ec73689cd9520b5",
    ),
    Facts(
        "california",
        "California housing, median value in dollars",
        20640,
        8,
        (206856, 115393),
        537,
        "5e1aa4849dd1a4b94c3b417ec0653d3e5bd593503e20d6dc2ec481f8f3068ef7",
    ),
    Facts(
        "concrete",
        "compressive strength of concrete in MPa",
        1030,
        8,
        (35.818, 16.6976),
        4353,
        "c67f799cea6dd814e346ddfcc353b48818a105592f815dbe6de96e549a790c55",
    ),
    Facts(
        "cpu_act",
        "share of time a processor spends in user mode",
        8192,
        21,
        (83.9689, 18.4008),
        197,
        "1728c49449edfa1ab7c72cf6273861e0a89ac53c521f9d882ab21afe22cfbf34",
    ),
    Facts(
        "delta_ailerons",
        "change of an F16's ailerons",
        7129,
        5,
        (-7.06972e-06, 0.000302828),
        198,
        "cf0dc2d655bae7efcfff377b6c650fe3a6512b4b723c13456238f02284bbfeef",
    ),
    Facts(
        "elevators",
        "action on an F16's elevators",
        16599,
        18,
        (0.021625, 0.00671687),
        216,
        "9489be55c9cd622a7c0313df596c12bf1c93aed86c639df2c2abc0e12986ad85",
    ),
    Facts(
        "energy_cooling",
        "cooling load of simulated buildings",
        768,
        8,
        (24.5878, 9.50711),
        None,
        "9706fbf17b33f83e57ddf1964bb0a6b8f82e784b52c692428e58b20d92d03c48",
    ),
    Facts(
        "energy_heating",
        "heating load of simulated buildings",
        768,
        8,
        (22.3072, 10.0836),
        None,
        "99781b26d2f9a4ef73cb38fb6ec3969925932e3768f6bc6b1e237809089f655d",
    ),
    Facts(
        "house_16H",
        "US census of 1990, median house price in dollars",
        22784,
        16,
        (50074.4, 52842.3),
        574,
        "48dd6c2f537479b3a0af627dcd4a8066bf134f21bac792badbd16ceac8754d65",
    ),
    Facts(
        "kin8nm",
        "forward kinematics of a robot arm of eight links",
        8192,
        8,
        (0.714283, 0.263591),
        189,
        "f9eac11869e48e7b4eab068cb26f28d031d05672a3f9e3f064ae07eaa216abfb",
    ),
    Facts(
        "leukemia",
        "gene expression of 72 patients (Golub et al. 1999), ALL or AML",
        72,
        7129,
        None,
        1104,
        "7a4d6606a8f910f5a08616534a19ad032c9798b905fc7aa87d80255da762028c",
    ),
    Facts(
        "pole",
        "telecommunication problem of Torgo, constant columns dropped",
        15000,
        26,
        (28.9453, 41.7244),
        44133,
        "4f1be9dcf43abb1474fc9868e98d2b54fa7b9b6002e806fe6b9899b8b20765e7",
    ),
    Facts(
        "protein",
        "physicochemical properties of protein structures, RMSD",
        45730,
        9,
        (7.74853, 6.11824),
        44963,
        "3f247b4d7d04abb1c03bcae8c65b5478874d8878e754d5eede08c5899df7ae89",
    ),
    Facts(
        "pumadyn_32fh",
        "dynamics of a Puma 560 arm, 32 inputs, fairly linear, high noise",
        8192,
        32,
        (-0.000411874, 0.0270142),
        None,
        "d9dc578d3b12b56f456f528e3f535d8e3068dd5acd580115d6033f9ffe94bfef",
    ),
    Facts(
        "pumadyn_32fm",
        "dynamics of a Puma 560 arm, 32 inputs, fairly linear, moderate noise",
        8192,
        32,
        (-4.78664e-05, 0.0182816),
        None,
        "4dcc422bb4716f8a1144bf48c303037f10d89c032ed54289bc0103b380303f71",
    ),
    Facts(
        "pumadyn_32nh",
        "dynamics of a Puma 560 arm, 32 inputs, non-linear, high noise",
        8192,
        32,
        (-0.000415862, 0.0359536),
        44981,
        "495213a2cc91ef0dc0ca619d8a38afc47d82287c67e808b199b29f3b2a859044",
    ),
    Facts(
        "pumadyn_8fh",
        "dynamics of a Puma 560 arm, 8 inputs, fairly linear, high noise",
        8192,
        8,
        (2.32833, 5.08503),
        None,
        "5eff224f5d2fb5fbc578d40f4983422f997e2ffe02c6bc520ab80c6544a88b0f",
    ),
    Facts(
        "pumadyn_8fm",
        "dynamics of a Puma 560 arm, 8 inputs, fairly linear, moderate noise",
        8192,
        8,
        (2.49673, 4.63557),
        None,
        "24af3d4fbd23c7a8c3c7e68e3571e2d5a7b411b2b3a40d2cf3a5ba6b55fc7285",
    ),
    Facts(
        "pumadyn_8nh",
        "dynamics of a Puma 560 arm, 8 inputs, non-linear, high noise",
        8192,
        8,
        (1.16205, 5.62199),
        225,
        "3e00cfad192012d3bf125d91f5c266c35436e731cb4d317cc720a2f00bf937c7",
    ),
    Facts(
        "segment",
        "seven kinds of outdoor image segments",
        2310,
        19,
        None,
        36,
        "59d26eb16f24cde33040f4bf3f64258b1a4d0f0e9efa73c912562e6b9c36b521",
    ),
    Facts(
        "stock",
        "daily price of one aerospace company from nine others",
        950,
        9,
        (46.9941, 6.53598),
        223,
        "70fb84f53888aa5bbf827860f7bb8c1ed4d29f54604277106f2f59d22acaf40b",
    ),
    Facts(
        "wpbc_outcome",
        "Wisconsin prognostic breast cancer, recurrence (R) or not (N)",
        198,
        32,
        None,
        None,
        "645ce393b9f1cfd2d2eb8f084d148fbbefccab8eb2ac82b69d7e6cfcf6e0bbf2",
    ),
    Facts(
        "wpbc_time",
        "Wisconsin prognostic breast cancer, months to recurrence or last visit",
        198,
        32,
        (46.7323, 34.3757),
        None,
        "183984394f7e69cf15013336fa08db0b6d84715dbcfea14910806ee78ce8d87e",
    ),
)
CATALOGUE = {facts.name: facts for facts in TABLES}
