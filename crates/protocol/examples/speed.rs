#[path = "../tests/support/mod.rs"]
mod support;
use history::Level;
use protocol::*;
fn main() {
    let small: &[(u8, &[&str])] = &[
        (0, &["r0 w0", "r0 r1"]),
        (0, &["w1 r0", "w0"]),
        (1, &["r0 w0", "w0 w1"]),
    ];
    let large: &[(u8, &[&str])] = &[
        (0, &["r0 w0", "r0 r1"]),
        (0, &["w1 r0", "r0 w1"]),
        (1, &["r0 w0"]),
        (1, &["w0 w1"]),
    ];
    let setup = support::setup(
        2,
        &[&[0, 1], &[0, 1]],
        if std::env::args().len() > 1 {
            small
        } else {
            large
        },
    );
    for (po, sy) in [(false, false), (true, true)] {
        let request = Request {
            questions: [Level::ReadCommitted; 0]
                .map(|l| Question {
                    property: Property::Level(l),
                    form: Form::Strict,
                })
                .to_vec(),
            partial_order: po,
            symmetry: sy,
            ..Request::default()
        };
        let t = std::time::Instant::now();
        let o = explore(&support::Sloppy, std::slice::from_ref(&setup), 1, &request);
        let e = &o.evidence;
        let s = t.elapsed().as_secs_f64();
        println!(
            "{} states {} gen {} finals {} hist {:.2}s {:.0} gen/s {:.1} B/state",
            e.states,
            e.generated,
            e.finals,
            e.histories,
            s,
            e.generated as f64 / s,
            e.bytes as f64 / e.states as f64
        );
    }
}
