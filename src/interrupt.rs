//! Ctrl-C, or a request to end: the first time, the check at work ends in good order; the second time, at once.

use crate::exit::Exit;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::flag;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, LazyLock};

static PRESSED: LazyLock<Arc<AtomicBool>> = LazyLock::new(Arc::default);

/// From now on an interruption is noticed here and does not end the process.
pub fn listen() {
    let at_once = i32::from(Exit::Unknown.code());
    for signal in [SIGINT, SIGTERM, SIGHUP] {
        // In this order: the flag that ends the process is that of an earlier signal. Where no handler can be
        // had, the signal ends the process as it does anywhere.
        let second = flag::register_conditional_shutdown(signal, at_once, Arc::clone(&PRESSED));
        let _ = second.and_then(|_| flag::register(signal, Arc::clone(&PRESSED)));
    }
}

/// Whether the user has interrupted.
pub fn pressed() -> bool {
    PRESSED.load(Ordering::Relaxed)
}

/// Becomes true when the user interrupts.
pub fn flag() -> &'static Arc<AtomicBool> {
    &PRESSED
}
