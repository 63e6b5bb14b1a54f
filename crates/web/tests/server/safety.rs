//! Who may ask, what is given, and that nothing leaves the directory.

use crate::client::{get, post, send};
use crate::site::{self, SKEW, SKEW_REPORT};
use web::Limits;

#[test]
fn no_path_leaves_the_directory() {
    let site = site::start();
    std::os::unix::fs::symlink(site.place.join("secret.jsonl"), site.served("link.jsonl")).unwrap();
    std::os::unix::fs::symlink(&site.place, site.served("up")).unwrap();
    let secret = site.place.join("secret.jsonl").display().to_string();
    let names = [
        "../secret.jsonl",
        "..%2Fsecret.jsonl",
        "%2e%2e/secret.jsonl",
        "%252e%252e/secret.jsonl",
        "up/secret.jsonl",
        "link.jsonl",
        "skew.jsonl/../../secret.jsonl",
        "./../secret.jsonl",
        "skew.jsonl%00",
        "%ff",
        ".",
        "",
        "/etc/passwd",
        "..%5Csecret.jsonl",
        secret.as_str(),
    ];
    for name in names {
        for route in ["history", "transactions", "result", "anomaly", "export"] {
            let answer = get(
                site.address,
                &format!("/api/{route}?path={name}&format=svg"),
            );
            assert!(
                matches!(answer.status, 400 | 404),
                "{route} {name}: {answer:?}"
            );
        }
        for route in ["check", "remove"] {
            let answer = post(site.address, &format!("/api/{route}?path={name}"), "");
            assert!(
                matches!(answer.status, 400 | 404),
                "{route} {name}: {answer:?}"
            );
        }
    }
    for target in [
        "/../secret.jsonl",
        "/%2e%2e/secret.jsonl",
        "//etc/passwd",
        "/etc/passwd",
    ] {
        assert!(
            matches!(get(site.address, target).status, 400 | 404),
            "{target}"
        );
    }
    assert_eq!(
        get(site.address, "/api/history?path=skew.jsonl").status,
        200
    );
    let list = get(site.address, "/api/list").body;
    assert!(!list.contains("secret") && !list.contains("link"), "{list}");
    assert!(site.place.join("secret.jsonl").exists());
}

/// A directory that somebody else packed may hold links where the page expects files of its own.
#[test]
fn links_inside_of_runs_and_of_the_pages_corner_do_not_lead_out() {
    use std::os::unix::fs::symlink;
    let site = site::start();
    let secret = site.place.join("secret.jsonl");
    std::fs::write(site.place.join("report.json"), SKEW_REPORT).unwrap();
    for (name, links) in [
        ("links", &["history.jsonl", "report.json"][..]),
        ("linked-recording", &["history.jsonl"]),
        ("linked-report", &["report.json"]),
    ] {
        let run = site.served(name);
        std::fs::create_dir(&run).unwrap();
        std::fs::write(run.join("history.jsonl"), SKEW).unwrap();
        std::fs::write(run.join("report.json"), SKEW_REPORT).unwrap();
        for link in links {
            std::fs::remove_file(run.join(link)).unwrap();
            let target = match *link {
                "history.jsonl" => secret.clone(),
                other => site.place.join(other),
            };
            symlink(target, run.join(link)).unwrap();
        }
        let status = |target: &str| get(site.address, target).status;
        let reads = links.contains(&"history.jsonl");
        let expected = if reads { 404 } else { 200 };
        assert_eq!(status(&format!("/api/history?path={name}")), expected);
        assert_eq!(status(&format!("/api/transactions?path={name}")), expected);
        let check = post(site.address, &format!("/api/check?path={name}"), "");
        assert_eq!(check.status, expected, "{check:?}");
        assert_eq!(status(&format!("/api/anomaly?path={name}&id=0")), 404);
    }
    let list = get(site.address, "/api/list").json();
    let runs = list["items"].as_array().unwrap().iter();
    assert_eq!(runs.filter(|item| item["kind"] == "run").count(), 0);
    // A directory is no history, whatever is in it.
    assert_eq!(get(site.address, "/api/history?path=links").status, 404);
    std::fs::create_dir_all(site.served("logs")).unwrap();
    symlink(&secret, site.served("logs/T1.log")).unwrap();
    assert_eq!(get(site.address, "/api/history?path=logs").status, 404);
}

#[test]
fn nothing_is_written_through_a_link_that_leads_out() {
    use std::os::unix::fs::symlink;
    let site = site::start();
    let outside = site.place.join("outside");
    std::fs::create_dir(&outside).unwrap();
    symlink(&outside, site.served("isolde-runs")).unwrap();
    let run = post(
        site.address,
        "/api/run",
        "{\"database\":\"sqlite\",\"workload\":\"registers\",\"seconds\":1,\"clients\":2}",
    );
    assert_eq!(run.status, 400, "{run:?}");
    assert!(run.body.contains("leads out"), "{run:?}");
    symlink(&outside, site.served(".isolde")).unwrap();
    let upload = post(site.address, "/api/upload?name=mine.jsonl", SKEW);
    assert_eq!(upload.status, 500, "{upload:?}");
    let job = post(site.address, "/api/check?path=skew.jsonl", "").json();
    crate::jobs::wait(&site, &job);
    let left: Vec<_> = walk(&outside);
    assert!(left.is_empty(), "{left:?}");
}

/// The files below a directory.
fn walk(directory: &std::path::Path) -> Vec<std::path::PathBuf> {
    let mut files = Vec::new();
    let mut waiting = vec![directory.to_path_buf()];
    while let Some(directory) = waiting.pop() {
        for entry in std::fs::read_dir(directory).unwrap() {
            let path = entry.unwrap().path();
            match path.is_dir() {
                true => waiting.push(path),
                false => files.push(path),
            }
        }
    }
    files
}

#[test]
fn only_uploads_can_be_removed() {
    let site = site::start();
    assert_eq!(
        post(site.address, "/api/remove?path=skew.jsonl", "").status,
        400
    );
    assert!(site.served("skew.jsonl").exists());
    let job = post(site.address, "/api/upload?name=mine.jsonl", SKEW);
    assert_eq!(job.status, 200, "{job:?}");
    let own = ".isolde/uploads/mine.jsonl";
    assert!(site.served(own).exists());
    assert_eq!(
        post(site.address, &format!("/api/remove?path={own}"), "").status,
        200
    );
    assert!(!site.served(own).exists());
}

#[test]
fn other_hosts_and_origins_are_refused() {
    let site = site::start();
    let ask = |head: &str| send(site.address, format!("{head}\r\n\r\n").as_bytes()).status;
    let (here, port) = (site.address, site.address.port());
    assert_eq!(ask(&format!("GET / HTTP/1.1\r\nHost: {here}")), 200);
    assert_eq!(
        ask(&format!("GET / HTTP/1.1\r\nHost: localhost:{port}")),
        200
    );
    assert_eq!(
        ask(&format!("GET / HTTP/1.1\r\nHost: evil.example:{port}")),
        421
    );
    assert_eq!(ask("GET / HTTP/1.1\r\nHost: 127.0.0.1"), 421);
    assert_eq!(ask("GET / HTTP/1.1"), 421);
    assert_eq!(
        ask(&format!("GET / HTTP/1.1\r\nHost: {here}\r\nHost: {here}")),
        421
    );
    let check =
        format!("POST /api/check?path=skew.jsonl HTTP/1.1\r\nHost: {here}\r\nContent-Length: 0");
    assert_eq!(ask(&check), 403, "without an origin");
    assert_eq!(ask(&format!("{check}\r\nOrigin: http://evil.example")), 403);
    assert_eq!(ask(&format!("{check}\r\nOrigin: null")), 403);
    assert_eq!(ask(&format!("{check}\r\nOrigin: https://{here}")), 403);
    assert_eq!(ask(&format!("{check}\r\nOrigin: http://{here}")), 200);
    let list = format!("GET /api/list HTTP/1.1\r\nHost: {here}");
    assert_eq!(ask(&format!("{list}\r\nSec-Fetch-Site: cross-site")), 403);
    assert_eq!(ask(&format!("{list}\r\nSec-Fetch-Site: same-origin")), 200);
    assert_eq!(ask(&format!("{list}\r\nOrigin: http://evil.example")), 403);
}

#[test]
fn with_a_token_nothing_is_given_without_it() {
    let token = "0123456789abcdef0123456789abcdef";
    let site = site::start_with(Limits::default(), Some(token));
    assert!(site.url.ends_with(&format!("/?token={token}")));
    for target in [
        "/",
        "/app.js",
        "/api/list",
        "/?token=",
        "/?token=0123",
        "/api/list?token=0123456789abcdef0123456789abcdef",
    ] {
        assert_eq!(get(site.address, target).status, 403, "{target}");
    }
    let page = get(site.address, &format!("/?token={token}"));
    assert_eq!(page.status, 200);
    let cookie = page.header("set-cookie").expect("a cookie").to_string();
    assert!(
        cookie.contains("HttpOnly") && cookie.contains("SameSite=Strict"),
        "{cookie}"
    );
    let pair = cookie.split(';').next().unwrap();
    let with = |cookie: &str| {
        let head = format!(
            "GET /api/list HTTP/1.1\r\nHost: {}\r\nCookie: {cookie}\r\n\r\n",
            site.address
        );
        send(site.address, head.as_bytes()).status
    };
    assert_eq!(with(&format!("other=1; {pair}")), 200);
    assert_eq!(with(&format!("{pair}0")), 403);
    assert_eq!(with(&pair[..pair.len() - 1]), 403);
}

#[test]
fn every_answer_keeps_the_page_to_itself() {
    let site = site::start();
    let here = site.address;
    let job = post(here, "/api/check?path=skew.jsonl", "").json();
    crate::jobs::wait(&site, &job);
    let host = format!("Host: {here}\r\nOrigin: http://{here}");
    let requests = [
        ("GET / HTTP/1.1", 200),
        ("GET /app.js HTTP/1.1", 200),
        ("GET /drawing.css HTTP/1.1", 200),
        ("GET /icon.svg HTTP/1.1", 200),
        ("GET /api/list HTTP/1.1", 200),
        ("GET /api/events?job=1 HTTP/1.1", 200),
        ("GET /api/result?path=skew.jsonl HTTP/1.1", 200),
        (
            "GET /api/export?path=skew.jsonl&id=0&format=svg HTTP/1.1",
            200,
        ),
        ("GET /api/history?path=..%2fsecret.jsonl HTTP/1.1", 404),
        ("GET /nothing HTTP/1.1", 404),
        ("GET /api/events?job=x HTTP/1.1", 400),
        ("DELETE / HTTP/1.1", 405),
        ("POST /api/run HTTP/1.1", 411),
        ("GET / HTTP/9", 505),
        ("nonsense", 400),
        ("GET / HTTP/1.1\r\nHost: evil.example", 421),
        ("GET / HTTP/1.1\r\nSec-Fetch-Site: none\r\nbroken", 400),
    ];
    for (request, status) in requests {
        let answer = send(here, format!("{request}\r\n{host}\r\n\r\n").as_bytes());
        assert_eq!(answer.status, status, "{request}: {answer:?}");
        let policy = answer.header("content-security-policy").expect("a policy");
        for part in [
            "default-src 'none'",
            "script-src 'self'",
            "style-src 'self'",
            "frame-ancestors 'none'",
        ] {
            assert!(policy.contains(part), "{policy}");
        }
        assert!(!policy.contains("unsafe"), "{policy}");
        assert_eq!(answer.header("x-content-type-options"), Some("nosniff"));
        assert_eq!(answer.header("referrer-policy"), Some("no-referrer"));
    }
}

#[test]
fn the_page_has_nothing_inline_and_nothing_from_elsewhere() {
    let site = site::start();
    let page = get(site.address, "/").body;
    for banned in [
        "<style",
        "style=",
        "onclick",
        "onload",
        "javascript:",
        "http://",
        "https://",
    ] {
        assert!(!page.contains(banned), "{banned}");
    }
    for part in page
        .split("src=\"")
        .skip(1)
        .chain(page.split("href=\"").skip(1))
    {
        let target = part.split('"').next().unwrap();
        if target.starts_with('/') {
            assert_eq!(get(site.address, target).status, 200, "{target}");
        }
    }
    for script in [
        "app", "page", "home", "job", "result", "anomaly", "history", "compare",
    ] {
        let text = get(site.address, &format!("/{script}.js")).body;
        for banned in [
            "innerHTML",
            "outerHTML",
            "insertAdjacentHTML",
            "document.write",
            "eval(",
        ] {
            assert!(!text.contains(banned), "{script}.js has {banned}");
        }
    }
}

#[test]
fn foreign_text_is_escaped_in_drawings() {
    let site = site::start();
    let evil = "</text><script>alert(1)</script><img src=x onerror=alert(1)>";
    let history = SKEW.replace("\"x\"", &serde_json::Value::from(evil).to_string());
    std::fs::write(site.served("evil.jsonl"), history).unwrap();
    let quoted = serde_json::Value::from(evil).to_string();
    let report = std::fs::read_to_string(site.served("report")).unwrap();
    let report = report
        .replace("(x,", &format!("({},", quoted.trim_matches('"')))
        .replace("\"key\":\"x\"", &format!("\"key\":{quoted}"));
    std::fs::write(site.served("report"), report).unwrap();
    let job = post(site.address, "/api/check?path=evil.jsonl", "").json();
    crate::jobs::wait(&site, &job);
    let view = get(site.address, "/api/anomaly?path=evil.jsonl&id=0");
    assert_eq!(view.status, 200, "{view:?}");
    let view = view.json();
    for drawing in ["graph", "lanes"] {
        let svg = view[drawing].as_str().expect("a drawing");
        assert!(
            svg.contains("&lt;script&gt;") || svg.contains("&lt;/text&gt;"),
            "{svg}"
        );
        assert!(!svg.contains("<script") && !svg.contains("<img"), "{svg}");
    }
    let export = get(site.address, "/api/export?path=evil.jsonl&id=0&format=svg");
    assert!(!export.body.contains("<script"), "{}", export.body);
    assert!(
        export
            .header("content-disposition")
            .unwrap()
            .starts_with("attachment")
    );
    let rows = get(site.address, "/api/transactions?path=evil.jsonl");
    assert_eq!(
        rows.header("content-type"),
        Some("application/json; charset=utf-8")
    );
}
