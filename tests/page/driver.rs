//! A browser without a window, driven through chromedriver's W3C WebDriver interface.

use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// A browser; closed when dropped.
pub struct Browser {
    driver: Child,
    port: u16,
    session: String,
}

/// How long something may take to appear. The machine may be busy.
const PATIENCE: Duration = Duration::from_secs(60);
/// The name of an element's id in WebDriver.
const ELEMENT: &str = "element-6066-11e4-a52e-4f735466cecf";

impl Browser {
    pub fn open() -> Browser {
        let mut driver = Command::new("/usr/bin/chromedriver")
            .arg("--port=0")
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("chromedriver starts");
        let mut lines = BufReader::new(driver.stdout.take().expect("its output")).lines();
        let port = loop {
            let line = lines.next().expect("a line with the port").expect("text");
            // It names port 0 before it knows which it got.
            let word = line.split("successfully on port ").nth(1);
            if let Some(Ok(port)) = word.map(|word| word.trim_end_matches('.').parse()) {
                break port;
            }
        };
        // Its output must not stop it.
        std::thread::spawn(move || lines.for_each(drop));
        let mut browser = Browser {
            driver,
            port,
            session: String::new(),
        };
        let capabilities = json!({"capabilities": {"alwaysMatch": {
            "goog:loggingPrefs": {"browser": "ALL"},
            "goog:chromeOptions": {"binary": "/usr/bin/chromium", "args": [
                "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--hide-scrollbars",
                "--force-color-profile=srgb", "--window-size=1280,900",
            ]},
        }}});
        let began = browser.call("POST", "/session", &capabilities);
        browser.session = began["sessionId"].as_str().expect("a session").to_string();
        browser
    }

    /// One command; what it returned.
    fn try_call(&self, method: &str, path: &str, body: &Value) -> Result<Value, String> {
        let body = if method == "GET" || method == "DELETE" {
            String::new()
        } else {
            body.to_string()
        };
        let mut stream =
            TcpStream::connect(("127.0.0.1", self.port)).map_err(|error| error.to_string())?;
        let timeout = Some(PATIENCE);
        stream
            .set_read_timeout(timeout)
            .map_err(|error| error.to_string())?;
        let head = format!(
            "{method} {path} HTTP/1.1\r\nHost: 127.0.0.1:{}\r\nContent-Type: application/json\r\nConnection: close\r\nContent-Length: {}\r\n\r\n",
            self.port,
            body.len()
        );
        stream
            .write_all(head.as_bytes())
            .and_then(|()| stream.write_all(body.as_bytes()))
            .map_err(|error| error.to_string())?;
        let body = read_body(stream).map_err(|error| error.to_string())?;
        let mut value: Value =
            serde_json::from_str(&body).map_err(|error| format!("{error}: {body}"))?;
        match value["value"].get("error") {
            Some(error) => Err(format!("{error}: {}", value["value"]["message"])),
            None => Ok(value["value"].take()),
        }
    }

    fn call(&self, method: &str, path: &str, body: &Value) -> Value {
        let result = self.try_call(method, path, body);
        result.unwrap_or_else(|error| panic!("{method} {path}: {error}"))
    }

    fn command(&self, method: &str, path: &str, body: &Value) -> Value {
        self.call(method, &format!("/session/{}{path}", self.session), body)
    }

    pub fn go(&self, url: &str) {
        self.command("POST", "/url", &json!({"url": url}));
    }

    /// What a script returns.
    pub fn run(&self, script: &str) -> Value {
        self.command(
            "POST",
            "/execute/sync",
            &json!({"script": script, "args": []}),
        )
    }

    /// Waits until a script returns something true.
    pub fn wait(&self, what: &str, script: &str) -> Value {
        let began = Instant::now();
        let script = format!("try {{ {script} }} catch (error) {{ return null; }}");
        loop {
            let found = self.run(&script);
            if !matches!(found, Value::Null | Value::Bool(false)) {
                return found;
            }
            if began.elapsed() > PATIENCE {
                let text = self.run("return document.body.innerText");
                panic!(
                    "waited for {what}; the page says:\n{}",
                    text.as_str().unwrap_or_default()
                );
            }
            std::thread::sleep(Duration::from_millis(100));
        }
    }

    /// Waits until the page says something.
    pub fn sees(&self, text: &str) {
        let wanted = Value::from(text);
        let script = format!("return document.getElementById('main').innerText.includes({wanted})");
        self.wait(&format!("the text '{text}'"), &script);
    }

    /// Waits for an element.
    fn element(&self, css: &str) -> String {
        let wanted = Value::from(css);
        self.wait(
            css,
            &format!("return document.querySelector({wanted}) !== null"),
        );
        let found = self.command(
            "POST",
            "/element",
            &json!({"using": "css selector", "value": css}),
        );
        found[ELEMENT].as_str().expect("an element").to_string()
    }

    pub fn click(&self, css: &str) {
        let element = self.element(css);
        self.command("POST", &format!("/element/{element}/click"), &json!({}));
    }

    /// Types into an element, or gives a file to one that takes files.
    pub fn type_into(&self, css: &str, text: &str) {
        let element = self.element(css);
        self.command(
            "POST",
            &format!("/element/{element}/value"),
            &json!({"text": text}),
        );
    }

    /// Presses keys wherever the focus is.
    pub fn press(&self, keys: &[&str]) {
        let actions: Vec<Value> = keys
            .iter()
            .flat_map(|key| {
                [
                    json!({"type": "keyDown", "value": key}),
                    json!({"type": "keyUp", "value": key}),
                ]
            })
            .collect();
        self.command(
            "POST",
            "/actions",
            &json!({"actions": [{"type": "key", "id": "keys", "actions": actions}]}),
        );
    }

    fn devtools(&self, command: &str, parameters: &Value) -> Value {
        self.command(
            "POST",
            "/goog/cdp/execute",
            &json!({"cmd": command, "params": parameters}),
        )
    }

    /// A screen of this size, light or dark.
    pub fn screen(&self, width: u32, height: u32, is_dark: bool) {
        self.devtools("Emulation.setDeviceMetricsOverride", &json!({"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 600}));
        let scheme = if is_dark { "dark" } else { "light" };
        self.devtools(
            "Emulation.setEmulatedMedia",
            &json!({"features": [{"name": "prefers-color-scheme", "value": scheme}]}),
        );
    }

    /// Keeps what the page looks like.
    pub fn picture(&self, path: &Path) {
        let taken = self.devtools(
            "Page.captureScreenshot",
            &json!({"format": "png", "captureBeyondViewport": true}),
        );
        let bytes = decode(taken["data"].as_str().expect("a picture"));
        std::fs::write(path, bytes).expect("a file");
    }

    /// What the browser complained about since the last time.
    pub fn complaints(&self) -> Vec<String> {
        let log = self.command("POST", "/se/log", &json!({"type": "browser"}));
        let lines = log.as_array().cloned().unwrap_or_default();
        lines
            .iter()
            .map(|line| line["message"].to_string())
            .collect()
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        let _ = self.try_call(
            "DELETE",
            &format!("/session/{}", self.session),
            &Value::Null,
        );
        let _ = self.driver.kill();
        let _ = self.driver.wait();
    }
}

/// The body of an answer. The driver keeps connections open, so its length is what tells the end.
fn read_body(stream: TcpStream) -> std::io::Result<String> {
    let mut reader = BufReader::new(stream);
    let mut length = 0;
    loop {
        let mut line = String::new();
        reader.read_line(&mut line)?;
        let line = line.trim_end().to_ascii_lowercase();
        if line.is_empty() {
            break;
        }
        if let Some(value) = line.strip_prefix("content-length:") {
            length = value.trim().parse().map_err(std::io::Error::other)?;
        }
    }
    let mut bytes = vec![0; length];
    reader.read_exact(&mut bytes)?;
    String::from_utf8(bytes).map_err(std::io::Error::other)
}

/// Base64.
fn decode(text: &str) -> Vec<u8> {
    let digit = |byte: u8| match byte {
        b'A'..=b'Z' => byte - b'A',
        b'a'..=b'z' => byte - b'a' + 26,
        b'0'..=b'9' => byte - b'0' + 52,
        b'+' => 62,
        _ => 63,
    };
    let digits: Vec<u8> = text
        .bytes()
        .filter(|byte| *byte != b'=')
        .map(digit)
        .collect();
    let mut bytes = Vec::with_capacity(digits.len() * 3 / 4);
    for four in digits.chunks(4) {
        let mut number = 0u32;
        for place in 0..4 {
            number = number << 6 | u32::from(four.get(place).copied().unwrap_or(0));
        }
        let three = number.to_be_bytes();
        bytes.extend_from_slice(&three[1..four.len()]);
    }
    bytes
}
