//! A browser to test with: chromedriver and the few commands of WebDriver (<https://www.w3.org/TR/webdriver2/>) that tests need.

use std::io::{BufRead, BufReader, Read as _};
use std::path::PathBuf;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

/// How long a page may take for anything, on a busy machine.
const PATIENCE: Duration = Duration::from_secs(120);

/// The driver's process with a browser of its own.
pub struct Browser {
    driver: Child,
    /// It is told of things until the end, and would fall over a pipe that nobody holds.
    _output: BufReader<ChildStdout>,
    folder: PathBuf,
    agent: ureq::Agent,
    session: String,
}

impl Browser {
    /// Starts a browser; `None`, with a word, where there is none.
    pub fn start(test: &str) -> Option<Browser> {
        let started = Command::new("chromedriver")
            .args(["--port=0", "--allowed-ips="])
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .stdin(Stdio::null())
            .spawn();
        let is_there =
            Command::new("chromium").arg("--version").stdout(Stdio::null()).stderr(Stdio::null()).status();
        let (Ok(mut driver), Ok(_)) = (started, is_there) else {
            rdmalab_namespace::skip(test, "the browser is needed: apt-get install chromium chromium-driver");
            return None;
        };
        let mut output = BufReader::new(driver.stdout.take().unwrap());
        // "ChromeDriver was started successfully on port 12345."
        let port = output
            .by_ref()
            .lines()
            .map_while(Result::ok)
            .find_map(|line| {
                line.rsplit_once("successfully on port ")?.1.trim_end_matches('.').parse::<u16>().ok()
            })
            .expect("chromedriver says its port");
        let folder = std::env::temp_dir().join(format!("rdmalab-view-{}-{port}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let agent: ureq::Agent = ureq::Agent::config_builder()
            .http_status_as_error(false)
            .timeout_global(Some(PATIENCE))
            .proxy(None)
            .build()
            .into();
        let mut browser = Browser {
            driver,
            _output: output,
            folder,
            agent,
            session: format!("http://127.0.0.1:{port}/session"),
        };
        let profile = browser.folder.join("profile");
        let arguments = [
            "--headless=new",
            // Tests run as root, where the browser has no sandbox.
            "--no-sandbox",
            "--disable-gpu",
            "--disable-dev-shm-usage",
            "--disable-background-networking",
            "--disable-component-update",
            "--disable-sync",
            "--no-first-run",
            "--window-size=1400,900",
        ]
        .map(str::to_owned)
        .into_iter()
        .chain([format!("--user-data-dir={}", profile.display())])
        .collect::<Vec<_>>();
        let wanted = json!({ "capabilities": { "alwaysMatch": {
            "browserName": "chrome",
            "goog:loggingPrefs": { "browser": "ALL" },
            "timeouts": { "script": 120_000, "pageLoad": 120_000 },
            "goog:chromeOptions": { "args": arguments },
        } } });
        let made = browser.send("POST", "", &wanted);
        let id = made["sessionId"].as_str().unwrap_or_else(|| panic!("no browser: {made}")).to_owned();
        browser.session = format!("{}/{id}", browser.session);
        Some(browser)
    }

    fn send(&self, method: &str, path: &str, body: &Value) -> Value {
        let url = format!("{}{path}", self.session);
        let answer = match method {
            "GET" => self.agent.get(&url).call(),
            "DELETE" => self.agent.delete(&url).call(),
            _ => self.agent.post(&url).header("Content-Type", "application/json").send(body.to_string()),
        };
        let mut answer = answer.unwrap_or_else(|error| panic!("{method} {path}: {error}"));
        let text = answer.body_mut().with_config().limit(256 << 20).read_to_string().unwrap();
        let mut value: Value = serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error}: {text}"));
        let value = value["value"].take();
        assert!(answer.status().is_success(), "{method} {path}: {value}");
        value
    }

    fn post(&self, path: &str, body: Value) -> Value {
        self.send("POST", path, &body)
    }

    /// Opens a page and waits until it is open.
    pub fn open(&self, page: &[u8]) {
        let file = self.folder.join("page.html");
        std::fs::write(&file, page).unwrap();
        self.post("/url", json!({ "url": format!("file://{}", file.display()) }));
        self.until("return (document.documentElement.dataset.state ?? '') !== ''");
        let state = self.run("return document.documentElement.dataset.state");
        assert_eq!(
            state,
            json!("open"),
            "{}",
            self.run("return document.getElementById('damage').textContent")
        );
    }

    /// Runs a function's body in the page.
    pub fn run(&self, script: &str) -> Value {
        self.post("/execute/sync", json!({ "script": script, "args": [] }))
    }

    /// Runs one that calls its last argument when it is done.
    pub fn run_async(&self, script: &str) -> Value {
        self.post("/execute/async", json!({ "script": script, "args": [] }))
    }

    /// Waits until something is true.
    #[track_caller]
    pub fn until(&self, script: &str) {
        let begun = Instant::now();
        while self.run(script) != json!(true) {
            assert!(begun.elapsed() < PATIENCE, "never true: {script}");
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// Waits until what was asked for is drawn.
    pub fn settle(&self) {
        self.run_async(
            "const done = arguments[0]; requestAnimationFrame(() => requestAnimationFrame(() => done(null)))",
        );
    }

    fn element(&self, selector: &str) -> String {
        let found = self.post("/element", json!({ "using": "css selector", "value": selector }));
        let id = found.as_object().and_then(|object| object.values().next()).and_then(Value::as_str);
        id.unwrap_or_else(|| panic!("{selector}: {found}")).to_owned()
    }

    /// Clicks an element.
    pub fn click(&self, selector: &str) {
        let id = self.element(selector);
        self.post(&format!("/element/{id}/click"), json!({}));
    }

    fn pointer(&self, actions: Value) {
        self.post(
            "/actions",
            json!({ "actions": [{ "type": "pointer", "id": "mouse", "parameters": { "pointerType": "mouse" }, "actions": actions }] }),
        );
    }

    /// Clicks a place of the window.
    pub fn click_at(&self, x: f64, y: f64) {
        let at = json!({ "type": "pointerMove", "duration": 0, "x": x.round(), "y": y.round(), "origin": "viewport" });
        self.pointer(
            json!([at, { "type": "pointerDown", "button": 0 }, { "type": "pointerUp", "button": 0 }]),
        );
    }

    /// Points at an element.
    pub fn hover(&self, selector: &str) {
        let id = self.element(selector);
        self.run(&format!(
            "document.querySelector({}).scrollIntoView({{ block: 'center' }}); return null",
            json!(selector)
        ));
        let origin = json!({ "element-6066-11e4-a52e-4f735466cecf": id });
        self.pointer(json!([{ "type": "pointerMove", "duration": 0, "x": 0, "y": 0, "origin": origin }]));
    }

    /// Types; special keys are WebDriver's.
    pub fn keys(&self, keys: &str) {
        let actions: Vec<Value> = keys
            .chars()
            .flat_map(|key| {
                [
                    json!({ "type": "keyDown", "value": key.to_string() }),
                    json!({ "type": "keyUp", "value": key.to_string() }),
                ]
            })
            .collect();
        self.post("/actions", json!({ "actions": [{ "type": "key", "id": "keys", "actions": actions }] }));
    }

    /// Chooses an option of a select.
    pub fn choose(&self, select: &str, value: &str) {
        self.click(&format!("#{select} option[value='{value}']"));
    }

    pub fn resize(&self, width: u32, height: u32) {
        self.post("/window/rect", json!({ "width": width, "height": height }));
        self.settle();
    }

    /// The page has thrown no error, and the browser has refused it nothing.
    pub fn no_complaints(&self) {
        let entries = self.post("/se/log", json!({ "type": "browser" }));
        let bad: Vec<&Value> = entries
            .as_array()
            .into_iter()
            .flatten()
            .filter(|entry| entry["level"] == json!("SEVERE"))
            .collect();
        assert!(bad.is_empty(), "{bad:?}");
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        // Ends the browser; the driver is ours to end.
        let _ = self.agent.delete(&self.session).call();
        let _ = self.driver.kill();
        let _ = self.driver.wait();
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}
