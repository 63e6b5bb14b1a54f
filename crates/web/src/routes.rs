//! What is asked, and who answers it.

use crate::app::App;
use crate::browse::{Filter, overview, page, transaction};
use crate::http::{Body, Handler, Method, Query, Request, Response};
use crate::jobs::Follow;
use crate::results::history_file;
use crate::views::{self, View};
use crate::{assets, compare, listing, uploads};
use serde_json::{Value, json};
use std::sync::Arc;

/// Why something was not done: the status to answer with, and why.
pub(crate) type Refused = (u16, String);

/// Bytes of a request that describes something.
const ORDER_BYTES_MAX: u64 = 16 << 10;

impl Handler for App {
    fn answer(&self, request: &Request, body: &mut Body<'_>) -> Response {
        if let Some(refusal) = self.guard().refuse(request) {
            return refusal;
        }
        let answer = match request.method {
            Method::Get => self.show(request),
            Method::Post => self.change(request, body),
        };
        let mut response =
            answer.unwrap_or_else(|(status, reason)| Response::refusal(status, &reason));
        self.guard().welcome(request, &mut response);
        response
    }
}

fn bad(reason: String) -> Refused {
    (400, reason)
}

fn missing(reason: impl Into<String>) -> Refused {
    (404, reason.into())
}

impl App {
    fn show(&self, request: &Request) -> Result<Response, Refused> {
        if let Some(file) = assets::find(&request.path) {
            return Ok(file);
        }
        let query = &request.query;
        let value = match request.path.as_str() {
            "/api/about" => self.about(),
            "/api/list" => listing::list(&self.folder, &self.results),
            "/api/jobs" => self.jobs.all().iter().map(|job| job.json()).collect(),
            "/api/events" => return self.events(request),
            "/api/result" => self.result(query)?,
            "/api/anomaly" => self.anomaly(query)?,
            "/api/export" => return self.export(query),
            "/api/history" => overview(&*self.history(query)?),
            "/api/opening" => self.opening(query)?,
            "/api/transactions" => self.transactions(query)?,
            "/api/transaction" => {
                let name = query.need("txn").map_err(bad)?;
                transaction(&*self.history(query)?, name).map_err(missing)?
            }
            "/api/compare" => {
                let report = |name: &str| {
                    let path = query.need(name).map_err(bad)?;
                    self.report(path)
                };
                compare::compare(&*report("before")?, &*report("after")?)
            }
            _ => return Err(missing("there is no such page")),
        };
        Ok(Response::json(&value))
    }

    fn change(&self, request: &Request, body: &mut Body<'_>) -> Result<Response, Refused> {
        let query = &request.query;
        let value = match request.path.as_str() {
            "/api/check" => self.check(query.need("path").map_err(bad)?)?,
            "/api/upload" => {
                let name = query.need("name").map_err(bad)?;
                let path = uploads::take(&self.folder, name, body, self.upload_room())?;
                let name = self.folder.name(&path).unwrap_or_default();
                self.check(&name)?
            }
            "/api/run" => {
                let text = body.text(ORDER_BYTES_MAX).map_err(|why| (413, why))?;
                let order = serde_json::from_str(&text).map_err(|why| bad(why.to_string()))?;
                self.run(&order)?
            }
            "/api/cancel" => {
                let job = self.job(query)?;
                job.cancel();
                job.json()
            }
            "/api/remove" => {
                let path = query.need("path").map_err(bad)?;
                let path = self.folder.find(path).map_err(missing)?;
                self.results.forget(&path);
                uploads::remove(&self.folder, &path).map_err(bad)?;
                json!({})
            }
            _ => return Err(missing("there is no such page")),
        };
        Ok(Response::json(&value))
    }

    fn events(&self, request: &Request) -> Result<Response, Refused> {
        let job = self.job(&request.query)?;
        let last = request.header("last-event-id");
        let next = last.and_then(|last| last.parse::<u64>().ok());
        let next = next.map_or(0, |last| last.saturating_add(1));
        Ok(Response::events(Follow::new(job, next)))
    }

    fn job(&self, query: &Query) -> Result<Arc<crate::jobs::Job>, Refused> {
        let number = query.number("job").map_err(bad)?;
        let job = number.and_then(|number| self.jobs.find(number));
        job.ok_or_else(|| missing("there is no such job"))
    }

    /// The report on a run or a file.
    fn report(&self, name: &str) -> Result<Arc<Value>, Refused> {
        let path = self.folder.find(name).map_err(missing)?;
        let report = self.results.get(&path);
        report.ok_or_else(|| missing(format!("{name} was not checked yet")))
    }

    /// The history of a run or a file.
    fn history(&self, query: &Query) -> Result<Arc<crate::browse::Opened>, Refused> {
        let name = query.need("path").map_err(bad)?;
        let path = self.folder.find(name).map_err(missing)?;
        let file = history_file(&self.folder, &path).map_err(missing)?;
        self.histories
            .open(&file)
            .map_err(|why| bad(self.hide_root(&why)))
    }

    /// How far the reading of a history is, or null if nobody reads it.
    fn opening(&self, query: &Query) -> Result<Value, Refused> {
        let name = query.need("path").map_err(bad)?;
        let path = self.folder.find(name).map_err(missing)?;
        let file = history_file(&self.folder, &path).map_err(missing)?;
        Ok(json!(self.histories.opening(&file)))
    }

    fn result(&self, query: &Query) -> Result<Value, Refused> {
        let name = query.need("path").map_err(bad)?;
        let path = self.folder.find(name).map_err(missing)?;
        Ok(match self.results.get(&path) {
            Some(report) => views::result(&report),
            None => json!({"verdict": null}),
        })
    }

    fn view(&self, query: &Query) -> Result<(Arc<crate::browse::Opened>, View), Refused> {
        let report = self.report(query.need("path").map_err(bad)?)?;
        let number = query.number("id").map_err(bad)?.unwrap_or(0);
        let opened = self.history(query)?;
        let view = View::of(&opened, &report, number);
        let view = view.ok_or_else(|| missing("there is no such anomaly"))?;
        Ok((opened, view))
    }

    fn anomaly(&self, query: &Query) -> Result<Value, Refused> {
        let (opened, view) = self.view(query)?;
        Ok(view.json(&opened))
    }

    fn export(&self, query: &Query) -> Result<Response, Refused> {
        let (_, view) = self.view(query)?;
        let format = query.need("format").map_err(bad)?;
        let (name, kind, text) = view
            .export(format)
            .ok_or_else(|| bad("the formats are svg, dot, mermaid, tikz and json".to_string()))?;
        Ok(Response::download(kind, &name, text))
    }

    fn transactions(&self, query: &Query) -> Result<Value, Refused> {
        let text = |name: &str| query.get(name).filter(|text| !text.is_empty());
        let filter = Filter {
            session: query.number("session").map_err(bad)?,
            key: text("key").map(str::to_string),
            from: query.number("from").map_err(bad)?,
            to: query.number("to").map_err(bad)?,
            status: text("status").map(str::to_string),
            by_time: text("order") == Some("time"),
        };
        let first = query.number("first").map_err(bad)?.unwrap_or(0);
        let rows = query.number("rows").map_err(bad)?.unwrap_or(50);
        let opened = self.history(query)?;
        page(&opened, &filter, first, rows).map_err(missing)
    }
}
