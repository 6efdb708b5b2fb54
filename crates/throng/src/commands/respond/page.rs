//! `throng respond --page`: the respondent's own page, until Ctrl-C.

use anyhow::{Context, Result};
use serde_json::json;

use super::super::stop::stop_signal;
use super::super::{Format, print};
use crate::cli::RespondArgs;
use throng_host::clock::SystemClock;
use throng_host::entropy::system_rng;
use throng_respondent::Respondent;
use throng_respondent::page::RespondentPage;

/// Serves it.
pub(super) fn serve(args: &RespondArgs, format: Format) -> Result<()> {
    // Found out before there is an address.
    Respondent::look_at(&args.state)?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    runtime.context("the operating system gives no runtime")?.block_on(async {
        let stopped = stop_signal();
        let page = RespondentPage::open(&args.state, args.port, SystemClock, &mut system_rng()?).await?;
        let url = page.url();
        // A reader that is gone does not matter to a server.
        let _ = match format {
            Format::Text => print(&format!(
                "What is sent about you: {url}\nOnly this machine can open it. Ctrl-C ends it.\n"
            )),
            Format::Json => print(&format!("{}\n", json!({ "page": url }))),
        };
        Ok(page.serve(stopped).await?)
    })
}
