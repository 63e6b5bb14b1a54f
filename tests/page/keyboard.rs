//! Everything is done with the keyboard, and what has the focus shows it.

use super::{Page, install, no_complaints, one_at_a_time, skew};
use crate::driver::Browser;

const TAB: &str = "\u{e004}";
const ENTER: &str = "\u{e007}";
const ESCAPE: &str = "\u{e00c}";

/// What has the focus, in a word or two; fails if nothing shows that it has.
fn focused(browser: &Browser) -> String {
    let shown = browser.run(
        "const one = document.activeElement, box = one.closest('.drop') ?? one, style = getComputedStyle(box);
         const outlined = style.outlineStyle !== 'none' && Number.parseFloat(style.outlineWidth) >= 2;
         const thick = one.matches('a.arrow') && Number.parseFloat(getComputedStyle(one.querySelector('.curve')).strokeWidth) > 3;
         const place = box.getBoundingClientRect();
         const seen = place.width > 0 && place.left >= 0 && place.top < innerHeight && place.bottom > 0;
         return [one.getAttribute('aria-label') || one.placeholder || one.innerText || one.id, (outlined || thick) && seen]",
    );
    let name = shown[0].as_str().unwrap_or_default().trim().to_string();
    assert_eq!(
        shown[1], true,
        "'{name}' does not show that it has the focus"
    );
    name
}

/// Goes on with the tab key until something has the focus; what had it on the way.
fn tab_to(browser: &Browser, wanted: &str) -> Vec<String> {
    let mut passed = Vec::new();
    for _ in 0..40 {
        browser.press(&[TAB]);
        passed.push(focused(browser));
        if passed.last().is_some_and(|name| name.contains(wanted)) {
            return passed;
        }
    }
    panic!("'{wanted}' is not reached by the tab key: {passed:?}");
}

#[test]
fn everything_is_reached_by_the_keyboard_and_shows_it() {
    if !install::has_browser() {
        return;
    }
    let _alone = one_at_a_time();
    let page = Page::serve("keyboard");
    page.file("skew.jsonl", &skew("x", "y", "1"));
    let browser = Browser::open();
    browser.go(&page.url);
    browser.sees("skew.jsonl");
    // In the order in which they are read.
    let passed = tab_to(&browser, "skew.jsonl");
    let order = [
        "Skip to the content",
        "Isolde",
        "Runs",
        "Start a run",
        "Compare",
        "file",
        "Filter the list",
    ];
    for (name, expected) in passed.iter().zip(order) {
        assert_eq!(name, expected, "{passed:?}");
    }
    browser.press(&[ENTER]);
    browser.sees("was not checked yet");
    tab_to(&browser, "Check it now");
    browser.press(&[ENTER]);
    browser.sees("The weakest levels that are violated");
    tab_to(&browser, " → s");
    browser.press(&[ENTER]);
    browser.sees("Choose an edge");
    // An arrow of the drawing is opened and closed where it is.
    let opened = "return document.querySelector('.edge-details h3')?.innerText";
    for (edge, key) in [("to s", ENTER), ("→ s", ENTER), ("→ s", " ")] {
        tab_to(&browser, edge);
        let before = focused(&browser);
        browser.press(&[key]);
        browser.wait("the edge", opened);
        browser.press(&[ESCAPE]);
        browser.sees("Choose an edge");
        assert_eq!(focused(&browser), before);
    }
    // From within what it opened, the focus goes back to where it came from.
    let before = focused(&browser);
    browser.press(&[ENTER]);
    tab_to(&browser, "Close the edge");
    browser.press(&[ENTER]);
    browser.sees("Choose an edge");
    assert_eq!(focused(&browser), before);
    // Once nothing is open, it goes one up.
    browser.press(&[ESCAPE]);
    browser.sees("The weakest levels that are violated");
    browser.press(&[ESCAPE]);
    browser.sees("Drop a history here");
    // The link over the head keeps the address.
    browser.run("document.querySelector('.skip').focus()");
    browser.press(&[ENTER]);
    assert_eq!(browser.run("return document.activeElement.id"), "main");
    assert_eq!(browser.run("return location.hash"), "#/");
    browser.press(&["/"]);
    assert_eq!(focused(&browser), "Filter the list");
    no_complaints(&browser);
}
