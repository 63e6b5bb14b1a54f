//! Ctrl-C, or a request to end: the first time, the check at work ends in good order; the second time, at once.

use crate::exit::Exit;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, LazyLock};

static PRESSED: LazyLock<Arc<AtomicBool>> = LazyLock::new(Arc::default);

/// From now on an interruption is noticed here and does not end the process.
pub fn listen() {
    let handler = || {
        if PRESSED.swap(true, Ordering::Relaxed) {
            std::process::exit(i32::from(Exit::Unknown.code()));
        }
    };
    // Where no handler can be had, Ctrl-C ends the process as it does anywhere.
    let _ = ctrlc::set_handler(handler);
}

/// Whether the user has interrupted.
pub fn pressed() -> bool {
    PRESSED.load(Ordering::Relaxed)
}

/// Becomes true when the user interrupts.
pub fn flag() -> &'static Arc<AtomicBool> {
    &PRESSED
}
