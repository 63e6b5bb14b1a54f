//! A session with a thread of its own: a text is sent, and nobody need wait for the answer.

use super::error::ReplayError;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread;
use std::time::Duration;
use workload::driver::Error;
use workload::drivers::open_session;
use workload::session::Reply;

/// A session that runs one text at a time.
pub(super) struct Worker {
    /// The number by which the server knows it.
    pub id: u64,
    tell: Sender<String>,
    answers: Receiver<Result<Reply, Error>>,
}

impl Worker {
    /// Connects, and runs the texts that set the session up.
    pub fn start(url: &str, setup: &[String], patience: Duration) -> Result<Worker, ReplayError> {
        let mut session = open_session(url, patience)?;
        for text in setup {
            session.run(text)?;
        }
        let id = session.id();
        let (tell, told) = channel::<String>();
        let (answer, answers) = channel();
        // It ends when nobody can tell it anything more; the connection closes with it.
        thread::spawn(move || {
            for text in told {
                if answer.send(session.run(&text)).is_err() {
                    return;
                }
            }
        });
        Ok(Worker { id, tell, answers })
    }

    /// Sends a text.
    pub fn send(&self, text: String) -> Result<(), ReplayError> {
        let gone = |_| ReplayError::new("a session with the server has ended");
        self.tell.send(text).map_err(gone)
    }

    /// The answer, if it comes in that time.
    pub fn answer(&self, within: Duration) -> Result<Option<Result<Reply, Error>>, ReplayError> {
        match self.answers.recv_timeout(within) {
            Ok(answer) => Ok(Some(answer)),
            Err(RecvTimeoutError::Timeout) => Ok(None),
            Err(RecvTimeoutError::Disconnected) => {
                Err(ReplayError::new("a session with the server has ended"))
            }
        }
    }
}
