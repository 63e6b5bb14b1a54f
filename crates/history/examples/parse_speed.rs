//! Reads a file and says how long that took: `parse_speed FILE [threads]`. Under `/usr/bin/time -v`
//! it also shows the memory the finished columns need.

use history::format::{ReadOptions, Source, read};
use std::ops::Range;
use std::time::Instant;

fn main() {
    let mut args = std::env::args().skip(1);
    let path = args.next().expect("the file to read");
    let threads = args
        .next()
        .map_or(1, |count| count.parse().expect("a number of threads"));
    let file = std::fs::File::open(&path).expect("the file opens");
    // Safety: nobody else writes to the file while this example runs.
    let map = unsafe { memmap2::Mmap::map(&file) }.expect("the file can be mapped");
    let release = |range: Range<usize>| {
        // Safety: a private mapping of a file only reads the pages again.
        let advice = memmap2::UncheckedAdvice::DontNeed;
        unsafe { map.unchecked_advise_range(advice, range.start, range.len()) }.expect("advice");
    };
    let options = ReadOptions {
        threads,
        release: &release,
        ..ReadOptions::default()
    };
    let source = Source {
        name: &path,
        bytes: &map,
    };
    let start = Instant::now();
    let loaded = read(&[source], &options).unwrap_or_else(|error| panic!("{error}"));
    let seconds = start.elapsed().as_secs_f64();
    let history = &loaded.history;
    println!(
        "{}: {} sessions, {} transactions, {} operations in {seconds:.3} s",
        loaded.format,
        history.session_count(),
        history.txn_count(),
        history.op_count(),
    );
}
