//! Fressian, read as EDN text.
//!
//! Fressian is a binary form of what EDN says: one code byte a value, small integers and lengths
//! packed into it. Each value is turned into its EDN text, so that a history has one reader whatever
//! notation it came in. Two caches shorten repetition: the priority cache holds values (here: their
//! texts), the struct cache holds tags with their number of fields.
//!
//! Cost: one pass. Nesting is a stack of bounded depth, not recursion; what is written is bounded
//! by the bytes read, since a cache can repeat a long text with one byte. Source: the codes of
//! github.com/Datomic/fressian, and the tags of Jepsen's `jepsen.store.fressian`.

use super::cache::Cache;
use super::codes;
use super::input::Input;
use super::names::{self, Name, Tag};
use crate::format::edn::{Flaw, Scan};
use std::io::Write;

/// How deep values may nest.
const DEPTH_MAX: usize = 200;

/// How the next list is to be written.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Shape {
    List,
    Map,
    Set,
}

impl Shape {
    fn brackets(self) -> (&'static [u8], &'static [u8]) {
        match self {
            Shape::List => (b"[", b"]"),
            Shape::Map => (b"{", b"}"),
            Shape::Set => (b"#{", b"}"),
        }
    }
}

/// What a value under construction is.
#[derive(Clone, Copy)]
enum What {
    /// Elements one after another.
    Elements,
    /// A list that a closing code ends; `true` if the end of the data does, too.
    Closed(bool),
    /// The seven fields of an operation.
    Op,
    /// A class name, left out, and a map.
    Record,
    /// One value for a place in the priority cache, and where its text begins.
    Cached(usize, usize),
}

/// A value under construction.
struct Frame {
    what: What,
    /// How many values are still to come; not used for closed lists.
    left: u64,
    /// How many were there.
    done: u64,
    close: &'static [u8],
    /// Where the text of the present part begins.
    part: usize,
}

/// What is written before each field of an operation. Of the last, a map of further keys, only our
/// own label is kept.
const OP_FIELDS: [&[u8]; 7] = [
    b"{:index ",
    b" :time ",
    b" :type ",
    b" :process ",
    b" :f ",
    b" :value ",
    b"",
];

/// A reader of the values in a part of a file.
pub(super) struct Fressian<'a> {
    input: Input<'a>,
    cache: Cache,
    structs: Vec<(Tag, u64)>,
    stack: Vec<Frame>,
}

impl<'a> Fressian<'a> {
    /// A reader of `bytes[start..end]`, for offsets of the whole.
    pub fn new(bytes: &'a [u8], start: usize, end: usize) -> Fressian<'a> {
        Fressian {
            input: Input {
                bytes: &bytes[..end],
                pos: start,
            },
            cache: Cache::new(end.saturating_sub(start)),
            structs: Vec::new(),
            stack: Vec::new(),
        }
    }

    /// The offset of the next byte.
    pub fn pos(&self) -> usize {
        self.input.pos
    }

    /// Whether there is nothing left.
    pub fn is_done(&self) -> bool {
        self.input.pos >= self.input.bytes.len()
    }

    /// Writes the text of the next value. On an error, `out` has a part of it.
    pub fn value(&mut self, out: &mut Vec<u8>) -> Scan<()> {
        self.stack.clear();
        loop {
            let ended = self.before_value(out);
            if !ended && !self.begin(out)? {
                continue;
            }
            if self.close(out, ended) {
                return Ok(());
            }
        }
    }

    /// Reads the beginning of a list: how many elements follow, `Some(None)` if that is not said;
    /// nothing if there is a nil instead.
    pub fn begin_list(&mut self) -> Scan<Option<Option<u64>>> {
        loop {
            let at = self.input.pos;
            match self.input.byte()? {
                codes::NULL => return Ok(None),
                codes::LIST => return Ok(Some(Some(self.input.count()? as u64))),
                codes::CLOSED_LIST | codes::OPEN_LIST => return Ok(Some(None)),
                code @ codes::LIST_PACKED..codes::LIST => {
                    return Ok(Some(Some((code - codes::LIST_PACKED).into())));
                }
                code @ (codes::STRUCT_TYPE | codes::STRUCT) => {
                    if self.tag(code, at)?.0 != Tag::Plain {
                        return Err(Flaw::new(at, "expected a list of operations"));
                    }
                }
                _ => return Err(Flaw::new(at, "expected a list of operations")),
            }
        }
    }

    /// Whether a list of unknown length ends here.
    pub fn ends_list(&self) -> bool {
        self.input.bytes.get(self.input.pos) == Some(&codes::END_COLLECTION)
    }

    /// Writes what stands before the next value; true if the list it would be in ends instead.
    fn before_value(&mut self, out: &mut Vec<u8>) -> bool {
        let next = self.input.bytes.get(self.input.pos);
        let Some(frame) = self.stack.last_mut() else {
            return false;
        };
        match frame.what {
            What::Closed(_) if next == Some(&codes::END_COLLECTION) => {
                self.input.pos += 1;
                return true;
            }
            What::Closed(true) if next.is_none() => return true,
            What::Op => out.extend_from_slice(OP_FIELDS[(frame.done as usize).min(6)]),
            What::Elements | What::Closed(_) if frame.done > 0 => out.push(b' '),
            _ => {}
        }
        frame.part = out.len();
        false
    }

    /// Ends what has just got its last part; true if that was the whole value.
    fn close(&mut self, out: &mut Vec<u8>, mut ended: bool) -> bool {
        loop {
            if !ended {
                let Some(frame) = self.stack.last_mut() else {
                    return true;
                };
                frame.done += 1;
                frame.left = frame.left.saturating_sub(1);
                let unwanted = match frame.what {
                    What::Op => frame.done == 7,
                    What::Record => frame.done == 1,
                    _ => false,
                };
                if unwanted {
                    let label = names::label(&out[frame.part..]).map(<[u8]>::to_vec);
                    out.truncate(frame.part);
                    if let (What::Op, Some(label)) = (frame.what, label) {
                        out.extend_from_slice(b" :isolde/label ");
                        out.extend_from_slice(&label);
                    }
                }
                if matches!(frame.what, What::Closed(_)) || frame.left > 0 {
                    return false;
                }
            }
            ended = false;
            let Some(frame) = self.stack.pop() else {
                return true;
            };
            out.extend_from_slice(frame.close);
            if let What::Cached(place, start) = frame.what {
                self.cache.keep(place, &out[start..], false);
            }
        }
    }

    /// Reads up to the first value or the beginning of a collection. True if that was a whole
    /// value, false if its parts follow.
    fn begin(&mut self, out: &mut Vec<u8>) -> Scan<bool> {
        let mut shape = Shape::List;
        loop {
            let at = self.input.pos;
            let code = self.input.byte()?;
            match code {
                codes::PUT_PRIORITY_CACHE => {
                    let place = self.cache.reserve();
                    if let Some(length) = self.text_ahead() {
                        self.input.pos += 1;
                        let text = self.input.text(length)?;
                        self.cache.keep(place, text.as_bytes(), true);
                        names::quoted(&text, out);
                        return self.fits(shape, at).map(|()| true);
                    }
                    self.push(What::Cached(place, out.len()), 1, b"")?;
                }
                codes::GET_PRIORITY_CACHE => {
                    let place = self.input.count()?;
                    return self.cached(place, shape, at, out).map(|()| true);
                }
                codes::PRIORITY_CACHE_PACKED..codes::STRUCT_CACHE_PACKED => {
                    let place = usize::from(code - codes::PRIORITY_CACHE_PACKED);
                    return self.cached(place, shape, at, out).map(|()| true);
                }
                codes::RESET_CACHES => self.reset(),
                codes::FOOTER => {
                    // The magic number, the length and a checksum; the block has one of its own.
                    self.input.take(11)?;
                    self.reset();
                }
                codes::NULL => {
                    match shape {
                        Shape::List => out.extend_from_slice(b"nil"),
                        Shape::Map => out.extend_from_slice(b"{}"),
                        Shape::Set => out.extend_from_slice(b"#{}"),
                    }
                    return Ok(true);
                }
                codes::LIST_PACKED..=codes::OPEN_LIST => {
                    return self.list(code, shape, out);
                }
                codes::STRUCT_CACHE_PACKED..codes::LONG_ARRAY
                | codes::STRUCT
                | codes::STRUCT_TYPE
                | codes::LONG_ARRAY..=codes::OBJECT_ARRAY
                | codes::MAP..=codes::KEY => {
                    self.fits(shape, at)?;
                    let (tag, fields) = self.tag(code, at)?;
                    match tag {
                        Tag::Map => shape = Shape::Map,
                        Tag::Set => shape = Shape::Set,
                        Tag::Plain => {}
                        _ => match self.tagged(tag, fields, out)? {
                            Some(whole) => return Ok(whole),
                            None => continue,
                        },
                    }
                }
                _ => {
                    self.fits(shape, at)?;
                    return self.scalar(code, at, out).map(|()| true);
                }
            }
        }
    }

    /// After the tag of a map or set, a list has to follow.
    fn fits(&self, shape: Shape, at: usize) -> Scan<()> {
        match shape {
            Shape::List => Ok(()),
            _ => Err(Flaw::new(
                at,
                "expected the list of a map's or set's elements, found another value",
            )),
        }
    }

    fn list(&mut self, code: u8, shape: Shape, out: &mut Vec<u8>) -> Scan<bool> {
        let (open, close) = shape.brackets();
        let left = match code {
            codes::CLOSED_LIST | codes::OPEN_LIST => {
                out.extend_from_slice(open);
                let what = What::Closed(code == codes::OPEN_LIST);
                return self.push(what, u64::MAX, close).map(|()| false);
            }
            codes::LIST => self.input.count()?,
            _ => usize::from(code - codes::LIST_PACKED),
        };
        out.extend_from_slice(open);
        self.elements(left as u64, close, out)
    }

    /// Begins a collection of so many elements; true if that is none.
    fn elements(&mut self, left: u64, close: &'static [u8], out: &mut Vec<u8>) -> Scan<bool> {
        if left == 0 {
            out.extend_from_slice(close);
            return Ok(true);
        }
        self.push(What::Elements, left, close).map(|()| false)
    }

    /// A tag: its own code, one met before, or a new one.
    fn tag(&mut self, code: u8, at: usize) -> Scan<(Tag, u64)> {
        let place = match code {
            codes::STRUCT_TYPE => {
                let name = self.name("the tag of a value")?;
                let fields = self.input.count()? as u64;
                let tag = Tag::of(&name.unwrap_or_default());
                self.structs.push((tag.clone(), fields));
                return Ok((tag, fields));
            }
            codes::STRUCT => self.input.count()?,
            codes::STRUCT_CACHE_PACKED..codes::LONG_ARRAY => {
                usize::from(code - codes::STRUCT_CACHE_PACKED)
            }
            codes::BIGDEC => return Ok((Tag::of_code(code), 2)),
            _ => return Ok((Tag::of_code(code), 1)),
        };
        let known = self.structs.get(place).cloned();
        known.ok_or_else(|| Flaw::new(at, format!("there is no tag {place} in the cache of tags")))
    }

    /// What follows a tag: `Some(true)` if it was read whole, `Some(false)` if its parts follow,
    /// `None` if the one value that follows stands for it.
    fn tagged(&mut self, tag: Tag, fields: u64, out: &mut Vec<u8>) -> Scan<Option<bool>> {
        match tag {
            Tag::Op => self.push(What::Op, 7, b"}")?,
            Tag::Record => self.push(What::Record, 2, b"")?,
            Tag::Entry => {
                out.push(b'[');
                self.push(What::Elements, 2, b"]")?;
            }
            Tag::Array => {
                let left = self.input.count()? as u64;
                out.push(b'[');
                return self.elements(left, b"]", out).map(Some);
            }
            Tag::Keyword | Tag::Symbol => {
                let space = self.name("the namespace of a name")?;
                let name = self.name("a name")?.unwrap_or_default();
                names::named(tag == Tag::Keyword, space.as_deref(), &name, out);
                return Ok(Some(true));
            }
            Tag::BigInt => {
                let at = self.input.pos;
                let code = self.input.byte()?;
                let bytes = self.input.binary(code, at)?;
                names::big_integer(&bytes, out);
                return Ok(Some(true));
            }
            Tag::Map | Tag::Set | Tag::Plain => return Ok(None),
            Tag::Other(name) => {
                out.push(b'#');
                out.extend_from_slice(name.as_bytes());
                out.push(b' ');
                if fields == 1 {
                    return Ok(None);
                }
                out.push(b'[');
                return self.elements(fields, b"]", out).map(Some);
            }
        }
        Ok(Some(false))
    }

    /// A value without parts.
    fn scalar(&mut self, code: u8, at: usize, out: &mut Vec<u8>) -> Scan<()> {
        match code {
            codes::TRUE => out.extend_from_slice(b"true"),
            codes::FALSE => out.extend_from_slice(b"false"),
            codes::DOUBLE_0 => out.extend_from_slice(b"0.0"),
            codes::DOUBLE_1 => out.extend_from_slice(b"1.0"),
            codes::DOUBLE => names::float(f64::from_bits(self.input.unsigned(8)?), out),
            codes::FLOAT => {
                names::float(f32::from_bits(self.input.unsigned(4)? as u32).into(), out)
            }
            codes::STRING_PACKED..=codes::STRING => {
                let text = self.input.text(code)?;
                names::quoted(&text, out);
            }
            codes::BYTES_PACKED..=codes::BYTES => {
                let bytes = self.input.binary(code, at)?;
                names::bytes(&bytes, out);
            }
            _ => {
                let number = self.input.integer(code, at)?;
                // Writing to memory does not fail.
                let _ = write!(out, "{number}");
            }
        }
        Ok(())
    }

    /// The code of the text ahead, if there is one.
    fn text_ahead(&self) -> Option<u8> {
        let next = self.input.bytes.get(self.input.pos).copied()?;
        (codes::STRING_PACKED..=codes::STRING)
            .contains(&next)
            .then_some(next)
    }

    /// A text or nothing, where only these make sense; it may come from the cache or go into it.
    fn name(&mut self, what: &str) -> Scan<Option<Name<'a>>> {
        let at = self.input.pos;
        let mut code = self.input.byte()?;
        let mut place = None;
        if code == codes::PUT_PRIORITY_CACHE {
            place = Some(self.cache.reserve());
            code = self.input.byte()?;
        }
        let from_cache = match code {
            codes::NULL => return Ok(None),
            codes::STRING_PACKED..=codes::STRING => {
                let text = self.input.text(code)?;
                if let Some(place) = place {
                    self.cache.keep(place, text.as_bytes(), true);
                }
                return Ok(Some(text));
            }
            codes::GET_PRIORITY_CACHE => Some(self.input.count()?),
            codes::PRIORITY_CACHE_PACKED..codes::STRUCT_CACHE_PACKED => {
                Some(usize::from(code - codes::PRIORITY_CACHE_PACKED))
            }
            _ => None,
        };
        let entry = match from_cache {
            Some(place) => self.cache.repeat(place, at)?,
            None => None,
        };
        match entry.filter(|entry| entry.is_text) {
            Some(entry) => {
                let text = String::from_utf8_lossy(self.cache.text(entry));
                Ok(Some(Name::Owned(text.into_owned())))
            }
            None => Err(Flaw::new(
                at,
                format!("expected {what}, found something that is no text"),
            )),
        }
    }

    fn cached(&mut self, place: usize, shape: Shape, at: usize, out: &mut Vec<u8>) -> Scan<()> {
        let Some(entry) = self.cache.repeat(place, at)? else {
            let problem = format!("there is no value {place} in the cache of values");
            return Err(Flaw::new(at, problem));
        };
        let text = self.cache.text(entry);
        if entry.is_text {
            self.fits(shape, at)?;
            names::quoted(&String::from_utf8_lossy(text), out);
            return Ok(());
        }
        match (shape, text) {
            (Shape::Map | Shape::Set, [b'[', inner @ .., b']']) => {
                let (open, close) = shape.brackets();
                out.extend_from_slice(open);
                out.extend_from_slice(inner);
                out.extend_from_slice(close);
            }
            (Shape::Map | Shape::Set, text) if !text.ends_with(b"}") => self.fits(shape, at)?,
            _ => out.extend_from_slice(text),
        }
        Ok(())
    }

    fn reset(&mut self) {
        self.cache.clear();
        self.structs.clear();
    }

    fn push(&mut self, what: What, left: u64, close: &'static [u8]) -> Scan<()> {
        if self.stack.len() == DEPTH_MAX {
            let problem = format!("values nest deeper than {DEPTH_MAX} levels");
            return Err(Flaw::new(self.input.pos, problem)
                .hint("no known recorder nests values like this; is this a history?"));
        }
        self.stack.push(Frame {
            what,
            left,
            done: 0,
            close,
            part: 0,
        });
        Ok(())
    }
}
