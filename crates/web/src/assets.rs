//! The files of the page, embedded.

use crate::http::Response;

const HTML: &str = "text/html";
const CSS: &str = "text/css";
const SCRIPT: &str = "text/javascript";

/// Names, types and contents.
const FILES: &[(&str, &str, &str)] = &[
    ("/", HTML, include_str!("../ui/index.html")),
    ("/style.css", CSS, include_str!("../ui/style.css")),
    ("/drawing.css", CSS, report::picture::STYLE),
    ("/app.js", SCRIPT, include_str!("../ui/app.js")),
    ("/page.js", SCRIPT, include_str!("../ui/page.js")),
    ("/home.js", SCRIPT, include_str!("../ui/home.js")),
    ("/job.js", SCRIPT, include_str!("../ui/job.js")),
    ("/result.js", SCRIPT, include_str!("../ui/result.js")),
    ("/anomaly.js", SCRIPT, include_str!("../ui/anomaly.js")),
    ("/history.js", SCRIPT, include_str!("../ui/history.js")),
    ("/compare.js", SCRIPT, include_str!("../ui/compare.js")),
    ("/icon.svg", "image/svg+xml", include_str!("../ui/icon.svg")),
];

/// The file at a path.
pub(crate) fn find(path: &str) -> Option<Response> {
    let (_, kind, text) = FILES.iter().find(|(name, _, _)| *name == path)?;
    Some(Response::fixed(kind, text.as_bytes()))
}
