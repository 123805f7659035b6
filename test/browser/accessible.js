// What keeps people from reading or using the page as it is now: one line for each, "" if there is nothing.
(() => {
  const wrong = [];
  const say = (element, what) => wrong.push(`${element.tagName.toLowerCase()}${element.id ? "#" + element.id : ""}.${element.className} '${element.textContent.slice(0, 40)}': ${what}`);
  const seen = (element) => element.checkVisibility({ checkVisibilityCSS: true }) && element.getClientRects().length > 0;
  const all = [...document.body.querySelectorAll("*")].filter(seen);

  // Contrast by WCAG 2: every text against the nearest background that is not transparent.
  const channels = (color) => {
    const [r, g, b, a = 1] = color.match(/[\d.]+/g).map(Number);
    return { rgb: [r, g, b], a };
  };
  const luminance = (rgb) => {
    const [r, g, b] = rgb.map((c) => (c / 255 <= 0.04045 ? c / 255 / 12.92 : ((c / 255 + 0.055) / 1.055) ** 2.4));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const behind = (element) => {
    for (let at = element; at; at = at.parentElement) {
      const { rgb, a } = channels(getComputedStyle(at).backgroundColor);
      if (a === 1) return rgb;
      if (a !== 0) say(at, "a background that is half transparent cannot be judged");
    }
    return [255, 255, 255];
  };
  const judge = (element, style, what) => {
    const size = parseFloat(style.fontSize);
    const least = size >= 24 || (size >= 18.66 && Number(style.fontWeight) >= 700) ? 3 : 4.5;
    const text = channels(style.color);
    const [high, low] = [luminance(text.rgb), luminance(behind(element))].sort((a, b) => b - a);
    const ratio = (high + 0.05) / (low + 0.05);
    if (text.a !== 1 || Number(style.opacity) !== 1) say(element, "a text that is half transparent cannot be judged");
    if (ratio < least) say(element, `${what} has a contrast of ${ratio.toFixed(2)}, not ${least}`);
  };
  for (const element of all) {
    if ([...element.childNodes].some((each) => each.nodeType === Node.TEXT_NODE && each.data.trim())) judge(element, getComputedStyle(element), "the text");
    if (element.placeholder) judge(element, getComputedStyle(element, "::placeholder"), "the placeholder");
  }

  // Everything that can be used has a name, and room for a finger.
  const nameOf = (element) => {
    const given = element.getAttribute("aria-label") || [...(element.labels || [])].map((each) => each.textContent).join(" ");
    // What groups others is not named by what is in it.
    return (given || (element.matches("[role=grid], [role=img], [role=group], [role=region]") ? "" : element.textContent)).trim();
  };
  for (const element of all) {
    const uses = element.matches("a[href], button, input, select, summary, [tabindex], [role=grid], [role=img], [role=group], [role=region]");
    if (uses && element.tagName !== "MAIN" && !nameOf(element)) say(element, "has no name");
    const { width, height } = element.getBoundingClientRect();
    if (element.matches("button, input, select, summary") && (width < 24 || height < 24)) say(element, `is ${width.toFixed(0)} by ${height.toFixed(0)}, less than 24 by 24`);
    for (const attribute of ["aria-describedby", "aria-labelledby", "aria-activedescendant", "for"]) {
      const to = element.getAttribute(attribute);
      if (to && !document.getElementById(to)) say(element, `${attribute} leads to no ${to}`);
    }
    const parents = { row: "[role=grid], [role=rowgroup]", gridcell: "[role=row]", columnheader: "[role=row]", rowgroup: "[role=grid]" };
    const above = parents[element.getAttribute("role")];
    if (above && !element.parentElement.closest(above)) say(element, `its role needs ${above} above it`);
    if (element.matches("th") && !element.scope) say(element, "has no scope");
  }
  const ids = all.map((each) => each.id).filter(Boolean);
  for (const id of ids) if (ids.indexOf(id) !== ids.lastIndexOf(id)) wrong.push(`two elements are called ${id}`);

  // The page as a whole.
  const levels = all.filter((each) => /^H[1-6]$/.test(each.tagName)).map((each) => Number(each.tagName[1]));
  levels.forEach((level, i) => {
    if (level > (levels[i - 1] ?? 0) + 1) wrong.push(`a heading of level ${level} follows one of level ${levels[i - 1] ?? 0}`);
  });
  if (levels.filter((each) => each === 1).length !== 1) wrong.push("there is not exactly one h1");
  if (all.filter((each) => each.tagName === "MAIN").length !== 1) wrong.push("there is not exactly one main");
  if (!document.documentElement.lang || !document.title) wrong.push("the page has no language or title");
  if (document.documentElement.scrollWidth > innerWidth) wrong.push(`the page is ${document.documentElement.scrollWidth} wide, its window ${innerWidth}`);
  return [...new Set(wrong)].slice(0, 20).join("\n");
})();
