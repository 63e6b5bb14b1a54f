//! Which format a file is in, and compressed files.

use history::format::{Format, Source, check_head, decompress, detect};
use std::io::Write;

/// What a file holds, and its format.
const KNOWN: [(&[u8], Format); 38] = [
    (b"r(1,2,3,4)\n", Format::Text),
    (b"\n  W (1,2,3,4)", Format::Text),
    (b"# a comment\nw(1,2,3,4)", Format::Text),
    (b"#comment\nw(1,2,3,4)", Format::Text),
    (b"\xef\xbb\xbfw(1,2,3,4)", Format::Text),
    (b"w 1 2\n", Format::Awdit),
    (b"-----\nw 1 2\n", Format::Awdit),
    (b"=====\n", Format::Awdit),
    (b"S\0\0\0\0\0\0\0\x01C\0\0\0\0\0\0\0\x01", Format::Cobra),
    (b"[x:=1 y==2]\n", Format::DbcopHist),
    (b"// a comment\n\n[ x:=1]", Format::DbcopHist),
    (b"---\n[x:=1]", Format::DbcopHist),
    (b"[_x==?]!", Format::DbcopHist),
    (b"[[{\"events\": []}]]", Format::DbcopJson),
    (b"[[]]", Format::DbcopJson),
    (
        b"{\"params\": {\"id\": 0}, \"data\": []}",
        Format::DbcopJson,
    ),
    (
        b"{\"params\": {\"id\": 0}, \"info\": \"isolde\"}",
        Format::DbcopJson,
    ),
    (b"{\n \"info\": \"\", \"data\": [[]]}", Format::DbcopJson),
    (b"{:type :invoke, :process 0}", Format::JepsenEdn),
    (b"; a comment\n{:type :ok}", Format::JepsenEdn),
    (b"[{:type :invoke}\n{:type :ok}]", Format::JepsenEdn),
    (b"[ ; comment\n {:type :ok}]", Format::JepsenEdn),
    (b"#jepsen.history.Op{:type :ok}", Format::JepsenEdn),
    (b"[#jepsen.history.Op{:type :ok}]", Format::JepsenEdn),
    (b"({:type :ok})", Format::JepsenEdn),
    (
        b"{\"type\": \"invoke\", \"process\": 0}",
        Format::JepsenJson,
    ),
    (
        b"[{\"index\": 0, \"type\": \"ok\", \"f\": \"txn\"}]",
        Format::JepsenJson,
    ),
    (
        b"[\n{\"process\": 0, \"type\": \"ok\"}]",
        Format::JepsenJson,
    ),
    (
        b"{\"isolde\": 1}\n{\"type\": \"x\", \"process\": 1}",
        Format::Isolde,
    ),
    (b"{ \"isolde\": 1, \"data\": 2}", Format::Isolde),
    (b"{\"session\": 0, \"ops\": []}\n", Format::Isolde),
    (b"{\"value\": [[\"w\", 1, 2, true]]}\n", Format::Viper),
    (b"{ \"value\" : []}", Format::Viper),
    (
        b"{\"value\": [], \"type\": \"ok\", \"process\": 0}",
        Format::JepsenJson,
    ),
    (b"[{\"tid\": 1, \"sid\": 0, \"sts\": {", Format::TimeKiller),
    (
        b"[\n {\"cts\": {\"l\": 0, \"p\": \"3\"}, \"ops\": []",
        Format::TimeKiller,
    ),
    (b"PAR1\x15\x04", Format::Parquet),
    (&[0; 64], Format::DbcopBincode),
];

#[test]
fn the_content_tells_the_format() {
    for (bytes, format) in &KNOWN {
        let source = Source { name: "x", bytes };
        assert_eq!(detect(&[source]), Ok(*format), "{}", bytes.escape_ascii());
    }
    for bytes in [
        &b"hello"[..],
        b"\xff\xfe\x00",
        b"{}",
        b"(r 1 2)",
        b"<xml>",
        b"write 1",
        b"r",
        &[1, 0, 0, 0, 0, 0, 0, 0],
        b"[1, 2]",
    ] {
        let source = Source { name: "x", bytes };
        match detect(&[source]) {
            Ok(format) => assert_eq!((bytes, format), (&b"r"[..], Format::Text)),
            Err(error) => {
                let error = error.to_string();
                assert!(error.contains("looked for"), "{error}");
                let quoted = bytes.escape_ascii().to_string();
                assert!(error.contains(&quoted), "{error}");
            }
        }
    }
}

#[test]
fn nothing_is_empty() {
    let source = |name, bytes| Source { name, bytes };
    for sources in [
        &[][..],
        &[source("a", b"")],
        &[source("a", b""), source("b", b"")],
    ] {
        let error = detect(sources).expect_err("empty").to_string();
        assert!(error.contains("empty"), "{error}");
    }
    let mixed = [
        source("T1.log", b"S\0\0\0\0\0\0\0\x01"),
        source("notes", b"hello"),
    ];
    let error = detect(&mixed).expect_err("mixed").to_string();
    assert!(error.contains("notes: "), "{error}");
}

#[test]
fn names_are_found_again() {
    for format in Format::all() {
        assert_eq!(format.name().parse(), Ok(format));
        for extension in format.extensions() {
            let name = format!("a.b.{extension}");
            assert_eq!(Format::for_file_name(&name), Some(format));
        }
    }
    let error = "yaml".parse::<Format>().expect_err("unknown").to_string();
    assert!(
        error.contains("yaml") && error.contains("dbcop-hist"),
        "{error}"
    );
    assert_eq!(Format::for_file_name("txt"), None);
}

#[test]
fn compressed_files_are_unpacked() {
    let text = b"w(1,2,3,4)\n".repeat(100);
    let gzip = |text: &[u8]| {
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        encoder.write_all(text).expect("memory");
        encoder.finish().expect("memory")
    };
    let zstd = |text: &[u8]| zstd::encode_all(text, 1).expect("memory");
    assert_eq!(decompress(&text), Ok(None));
    for (packed, kind) in [
        (gzip(&text), "gzip"),
        ([gzip(&text[..500]), gzip(&text[500..])].concat(), "gzip"),
        (zstd(&text), "zstd"),
        ([zstd(&text[..500]), zstd(&text[500..])].concat(), "zstd"),
    ] {
        assert_eq!(decompress(&packed), Ok(Some(text.clone())), "{kind}");
        let cut = decompress(&packed[..packed.len() - 5]).expect_err("cut");
        assert!(
            cut.to_string()
                .contains(&format!("the {kind} file is cut off")),
            "{cut}"
        );
        let mut damaged = packed.clone();
        let middle = damaged.len() / 2;
        damaged[middle] ^= 0x55;
        damaged[middle + 1] ^= 0x55;
        assert_ne!(decompress(&damaged), Ok(Some(text.clone())));
    }
}

#[test]
fn what_follows_a_gzip_file_is_named() {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(b"w(1,2,3,4)\n").expect("memory");
    let packed = encoder.finish().expect("memory");
    for garbage in [
        b"xx".as_slice(),
        b"more than a header of garbage",
        &[0; 512],
    ] {
        let bytes = [&packed, garbage].concat();
        let error = decompress(&bytes).expect_err("garbage").to_string();
        let expected = format!("byte {}: the gzip file ends here", packed.len());
        assert!(error.contains(&expected), "{error}");
    }
    let cut = decompress(&[&packed[..], &packed[..15]].concat()).expect_err("cut");
    assert!(cut.to_string().contains("cut off"), "{cut}");
}

#[test]
fn the_beginning_of_a_file_shows_whether_a_format_fits() {
    let gzip = |text: &[u8]| {
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::none());
        encoder.write_all(text).expect("memory");
        encoder.finish().expect("memory")
    };
    let zstd = |text: &[u8]| zstd::encode_all(text, 1).expect("memory");
    let table = [
        ("y N\n", false),
        ("w(1,N,3,4)\n", true),
        ("{:type :ok, :x N}\n", true),
    ];
    for (line, fits) in table {
        // Numbers that do not pack into one block.
        let number = |place: u32| place.wrapping_mul(2_654_435_761).to_string();
        let text: String = (0..60_000)
            .map(|place| line.replace('N', &number(place)))
            .collect();
        let text = text.as_bytes();
        for bytes in [text.to_vec(), gzip(text), zstd(text)] {
            let head = &bytes[..bytes.len() / 2];
            assert_eq!(check_head(head).is_ok(), fits, "{line}");
        }
    }
}

#[test]
fn a_misspelt_field_is_told_as_one() {
    let bytes = b"{\"sesion\":0,\"ops\":[[\"w\",\"x\",1]]}\n";
    let source = Source { name: "x", bytes };
    assert_eq!(detect(&[source]), Ok(Format::Isolde));
    let error = super::load(bytes, None, 1).expect_err("misspelt");
    for piece in [
        "line 1, column 2",
        "unknown field `sesion`",
        "JSON lines",
        "session, txn",
    ] {
        assert!(error.contains(piece), "{error}");
    }
    let error = super::load(b"{\"ops\":[]}\n", None, 1).expect_err("missing");
    assert!(error.contains("expected a `session`"), "{error}");
}

#[test]
fn zeros_in_a_text_are_named() {
    let text = b"{:type :invoke, :process 0, :f :txn, :value [[:w 1 2]]}\n\0\0\0\0";
    let source = Source {
        name: "history.edn",
        bytes: text,
    };
    let error = detect(&[source])
        .expect_err("no text has zeros")
        .to_string();
    assert!(
        error.contains("byte 56") && error.contains("zero byte"),
        "{error}"
    );
}

#[test]
fn a_history_without_transactions_is_noted() {
    for format in [Format::Isolde, Format::JepsenJson, Format::JepsenEdn] {
        for text in ["", "\n\n"] {
            let loaded = super::load(text.as_bytes(), Some(format), 1).expect("it is no error");
            assert_eq!(loaded.history.txn_count(), 0);
            assert_eq!(loaded.notes.len(), 1, "{format:?}: {:?}", loaded.notes);
        }
    }
}
