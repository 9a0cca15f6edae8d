(function () {
  "use strict";
  var root = document.documentElement;
  root.classList.add("js");
  function all(selector, inside) { return Array.prototype.slice.call((inside || document).querySelectorAll(selector)); }

  /* Light and dark: as the system says until the button is pressed. */
  var theme = document.getElementById("theme");
  var system = window.matchMedia("(prefers-color-scheme: dark)");
  function isDark() { return root.dataset.theme ? root.dataset.theme === "dark" : system.matches; }
  function say() { theme.textContent = isDark() ? "Light page" : "Dark page"; }
  try { var kept = localStorage.getItem("nablasso-theme"); if (kept === "dark" || kept === "light") root.dataset.theme = kept; } catch (error) { kept = null; }
  theme.addEventListener("click", function () {
    root.dataset.theme = isDark() ? "light" : "dark";
    try { localStorage.setItem("nablasso-theme", root.dataset.theme); } catch (error) { kept = null; }
    say();
  });
  system.addEventListener("change", say);
  say();

  /* The table of columns: sort by a column, filter by name, show the selected only. */
  var table = document.getElementById("columns-table");
  if (table) {
    var body = table.tBodies[0], rows = all("tr", body);
    var filter = document.getElementById("filter"), only = document.getElementById("only"), count = document.getElementById("count");
    var show = function () {
      var words = filter.value.trim().toLowerCase(), shown = 0;
      rows.forEach(function (row) {
        var fits = (!only.checked || row.dataset.selected === "1") && row.dataset.name.toLowerCase().indexOf(words) >= 0;
        row.hidden = !fits;
        if (fits) shown += 1;
      });
      count.textContent = shown + " of " + rows.length + " shown";
    };
    filter.addEventListener("input", show);
    only.addEventListener("change", show);
    all("th button", table).forEach(function (button) {
      button.addEventListener("click", function () {
        var head = button.parentNode, key = button.dataset.key;
        var up = head.getAttribute("aria-sort") === "descending" || (head.getAttribute("aria-sort") !== "ascending" && key === "name");
        all("thead th", table).forEach(function (other) { if (other.hasAttribute("aria-sort")) other.setAttribute("aria-sort", "none"); });
        head.setAttribute("aria-sort", up ? "ascending" : "descending");
        rows.sort(function (a, b) {
          var x = a.dataset[key], y = b.dataset[key];
          var order = key === "name" ? x.localeCompare(y, undefined, { numeric: true }) : parseFloat(x) - parseFloat(y);
          return (up ? order : -order) || a.dataset.place - b.dataset.place;
        });
        rows.forEach(function (row) { body.appendChild(row); });
      });
    });
    show();
  }

  /* One column's curves at a time. */
  var pick = document.getElementById("pick");
  if (pick) {
    var effects = all(".effect");
    var choose = function (place) {
      place = (place + effects.length) % effects.length;
      pick.selectedIndex = place;
      effects.forEach(function (effect, k) { effect.hidden = k !== place; });
    };
    pick.addEventListener("change", function () { choose(pick.selectedIndex); });
    document.getElementById("previous").addEventListener("click", function () { choose(pick.selectedIndex - 1); });
    document.getElementById("next").addEventListener("click", function () { choose(pick.selectedIndex + 1); });
    all("[data-effect]").forEach(function (link) {
      link.addEventListener("click", function () {
        choose(Number(link.dataset.effect));
        document.getElementById("effects").scrollIntoView();
        pick.focus({ preventScroll: true });
      });
    });
    choose(0);
    if (window.matchMedia("(min-width: 56rem)").matches) {
      all("details.beside").forEach(function (numbers) { numbers.open = true; });
    }
  }
})();
