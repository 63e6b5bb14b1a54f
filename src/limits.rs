//! `--timeout` and `--memory`: when they are reached, and what is said then.

use crate::interrupt;
use std::time::{Duration, Instant};

/// The limits of one check.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    started: Instant,
    timeout: Option<Duration>,
    memory_bytes: Option<u64>,
}

const GIB: f64 = 1024.0 * 1024.0 * 1024.0;

impl Limits {
    /// Limits that count from now.
    pub fn new(timeout_s: Option<f64>, memory_gib: Option<f64>) -> Limits {
        Limits {
            started: Instant::now(),
            timeout: timeout_s.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok()),
            memory_bytes: memory_gib.map(|gib| (gib * GIB) as u64),
        }
    }

    /// Whether there is any.
    pub fn are_given(&self) -> bool {
        self.timeout.is_some() || self.memory_bytes.is_some()
    }

    /// The limit that is reached, in words; an interruption is one.
    pub fn reached(&self) -> Option<String> {
        if interrupt::pressed() {
            return Some("interrupted".to_string());
        }
        if let Some(timeout) = self.timeout
            && self.started.elapsed() >= timeout
        {
            return Some(format!("timeout of {} s", timeout.as_secs_f64()));
        }
        let memory_bytes = self.memory_bytes?;
        let used = own_bytes()?;
        (used > memory_bytes).then(|| memory_text(used, "in use", memory_bytes))
    }

    /// How long a level may take that others wait for, so that time is left for them.
    pub fn patience(&self) -> Duration {
        let patience = checker::Options::default().patience;
        self.timeout.map_or(patience, |timeout| timeout / 4)
    }

    /// Why an input of this size will not fit, if it will not. `sample` is its beginning: a
    /// history takes about 16 bytes an operation while it is checked, and a text format has an
    /// operation a line or, in JSON and EDN, one for every ten bytes at the densest.
    pub fn too_large(&self, size: u64, sample: &[u8]) -> Option<String> {
        let memory_bytes = self.memory_bytes?;
        let sample = &sample[..sample.len().min(1 << 16)];
        let line_count = sample.iter().filter(|&&byte| byte == b'\n').count().max(1) as u64;
        let line_bytes = (sample.len() as u64 / line_count).clamp(8, 64);
        let needed = size / line_bytes * 16;
        (needed > memory_bytes).then(|| memory_text(needed, "needed", memory_bytes))
    }

    /// Whether so much more memory is in use than allowed that the system should not wait for the
    /// stage at work to notice.
    pub fn far_beyond_memory(&self) -> bool {
        let far = |allowed: u64| allowed + allowed / 4 + (64 << 20);
        matches!((self.memory_bytes, own_bytes()), (Some(allowed), Some(used)) if used > far(allowed))
    }
}

fn memory_text(bytes: u64, what: &str, allowed: u64) -> String {
    // A hundredth of a GiB is nothing to a small limit.
    let gib = |bytes: u64| bytes as f64 / GIB;
    let digits = if gib(allowed) < 0.01 { 5 } else { 2 };
    format!(
        "memory limit: about {:.digits$} GiB {what}, {:.digits$} GiB allowed",
        gib(bytes),
        gib(allowed)
    )
}

/// The memory this process occupies, where the system tells. Pages of a mapped file do not count:
/// the system takes them back whenever it needs them.
fn own_bytes() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/self/statm").ok()?;
    let mut pages = text.split_whitespace().skip(1).map(str::parse::<u64>);
    let (resident, shared) = (pages.next()?.ok()?, pages.next()?.ok()?);
    Some(resident.saturating_sub(shared) * 4096)
}
