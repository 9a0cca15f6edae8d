"""A headless Chromium, and reports for it to open."""

from __future__ import annotations

import os
import shutil
import warnings

import numpy as np
import pandas as pd
import pytest

WIDE, NARROW = (1200, 900), (390, 844)


def _found(*names):
    return next((path for path in map(shutil.which, names) if path), None)


@pytest.fixture(scope="session")
def browser():
    """The browser; tests are skipped where there is none, unless they were asked for."""
    asked = os.environ.get("NABLASSO_BROWSER") == "1"
    chromium = _found("chromium", "chromium-browser", "google-chrome")
    driver = _found("chromedriver")
    try:
        from selenium import webdriver
    except ImportError:
        webdriver = None
    if not (chromium and driver and webdriver):
        reason = "needs Chromium, chromedriver and selenium: make browser"
        if asked:
            pytest.fail(reason)
        pytest.skip(reason)
    options = webdriver.ChromeOptions()
    options.binary_location = chromium
    for argument in ("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"):
        options.add_argument(argument)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    page = webdriver.Chrome(options=options, service=webdriver.ChromeService(driver))
    yield page
    page.quit()


@pytest.fixture
def open_page(browser):
    """Open a file at a width, in light or dark, with a clean log."""

    def opened(path, size=WIDE, *, dark=False):
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        still = {
            "name": "prefers-reduced-motion",
            "value": "reduce",
        }  # clicks wait for no scrolling
        browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [scheme, still]})
        width, height = size
        metrics = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 600}
        browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
        browser.get(path.as_uri())
        browser.execute_script("try { localStorage.clear(); } catch (error) { }")
        for log in ("browser", "performance"):
            browser.get_log(log)
        browser.get(path.as_uri())
        return browser

    return opened


@pytest.fixture(scope="session")
def table():
    rng = np.random.default_rng(11)
    X = rng.normal(size=(80, 6))
    return X, X[:, 0] * X[:, 1] + np.sin(2 * X[:, 2]) + 0.1 * rng.normal(size=80)


@pytest.fixture(scope="session")
def small(table, tmp_path_factory):
    """A report of six columns with names that mean harm."""
    from nablasso import NablassoRegressor
    from nablasso.report import build_report, write_report

    X, y = table
    names = ["<script>document.title='hacked'</script>", "b & c", "sin(x)", "d", "e", "f"]
    frame = pd.DataFrame(X, columns=names)
    model = NablassoRegressor("gaussian", cv=3).fit(frame, y)
    report = build_report(model, frame, target="<b>price</b>", source="houses.csv")
    path = tmp_path_factory.mktemp("small") / "report.html"
    write_report(report, path)
    return path


@pytest.fixture(scope="session")
def large(tmp_path_factory):
    """A report of a thousand columns from a real fit."""
    from nablasso import DerivativeLasso
    from nablasso.report import build_report, write_report

    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 1000))
    y = X[:, :30] @ rng.normal(size=30)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        names = [f"a_rather_long_name_of_column_{k}" for k in range(1000)]
        frame = pd.DataFrame(X, columns=names)
        model = DerivativeLasso("linear", ridge=1.0, tol=1e-2).fit(frame, y)
        report = build_report(model, frame)
    path = tmp_path_factory.mktemp("large") / "report.html"
    write_report(report, path)
    return path
