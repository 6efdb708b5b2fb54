//! A real browser without a window, for the tests of pages: Chromium, told what to do by its own DevTools protocol.
//!
//! ```ignore
//! let browser = Browser::start();
//! let page = browser.page("http://127.0.0.1:8080/");
//! page.wait_for_text("#state", "ready");
//! page.click("#more");
//! assert_eq!(page.number("#count"), 3.0);
//! page.screenshot("more");
//! // Dropped here: fails if the console has errors, or if a request failed or went elsewhere.
//! ```

pub mod chromium;
mod connection;
mod page;

use std::cell::RefCell;
use std::path::PathBuf;

use connection::Connection;
pub use page::{Download, Page};
use serde_json::{Value, json};
use tempfile::TempDir;

/// A browser of its own, with an empty profile, until it is dropped.
pub struct Browser {
    connection: RefCell<Connection>,
    folder: TempDir,
}

impl Browser {
    /// Starts one; installs it first where there is none.
    pub fn start() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let connection = RefCell::new(Connection::start(&chromium::chromium(), folder.path()));
        let browser = Self { connection, folder };
        std::fs::create_dir(browser.downloads()).unwrap();
        let downloads =
            json!({ "behavior": "allowAndName", "downloadPath": browser.downloads(), "eventsEnabled": true });
        browser.call("", "Browser.setDownloadBehavior", &downloads);
        browser
    }

    /// A new page at an address.
    pub fn page(&self, url: &str) -> Page<'_> {
        let page = Page::new(self);
        page.open(url);
        page
    }

    /// Where downloads go, under names that the browser makes up.
    fn downloads(&self) -> PathBuf {
        self.folder.path().join("downloads")
    }

    fn call(&self, session: &str, method: &str, params: &Value) -> Value {
        self.connection.borrow_mut().call(session, method, params).unwrap_or_else(|error| panic!("{error}"))
    }
}
