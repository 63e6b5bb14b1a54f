//! Mappers of MyBatis in XML: `<select id="find">select …</select>` is the statement of the method `find` of the
//! interface that the namespace names.
//!
//! The statements are put where annotations would stand, in front of the methods and in their lines, so that
//! everything after this knows annotations only. Fragments (`<include>`) are put in; other tags stay, for who follows
//! statements that are put together while they run ([`super::dynamic`]).

use super::JavaFile;
use super::dynamic::plain;
use super::tree;
use crate::place::ProgramError;

/// Fragments in fragments are followed this deep.
const INCLUDES_MAX: usize = 10;

/// Whether a text is a mapper.
pub fn is_mapper(text: &str) -> bool {
    text.contains("<mapper") && text.contains("namespace")
}

/// A statement of a mapper, as an annotation of a method.
struct Mapped {
    interface: String,
    method: String,
    annotation: String,
}

/// The texts of the Java files, with the statements of the mappers as annotations.
pub(crate) fn annotated(
    files: &[JavaFile<'_>],
    mappers: &[&str],
) -> Result<Vec<String>, ProgramError> {
    let all: Vec<Mapped> = mappers.iter().flat_map(|text| statements(text)).collect();
    let mut texts = Vec::new();
    for file in files {
        texts.push(
            match all.iter().any(|one| file.text.contains(&one.interface)) {
                true => with_statements(file, &all)?,
                false => file.text.to_string(),
            },
        );
    }
    Ok(texts)
}

fn with_statements(file: &JavaFile<'_>, all: &[Mapped]) -> Result<String, ProgramError> {
    let (root, _) = tree::parse(file.name, file.text)?;
    let mut places: Vec<(usize, &str)> = Vec::new();
    for node in root.all() {
        if node.kind != "interface_declaration" {
            continue;
        }
        let methods = node.child("body").into_iter();
        let methods = methods.flat_map(|body| body.of_kind("method_declaration"));
        for method in methods.filter(|method| method.child("body").is_none()) {
            let same = |one: &&Mapped| one.interface == node.name() && one.method == method.name();
            let found = all.iter().filter(same);
            places.extend(found.map(|one| (method.start(), one.annotation.as_str())));
        }
    }
    places.sort_unstable();
    let mut out = String::new();
    let mut done = 0;
    for (at, annotation) in places {
        out.push_str(&file.text[done..at]);
        out.push_str(annotation);
        done = at;
    }
    out.push_str(&file.text[done..]);
    Ok(out)
}

/// A tag with what stands in it.
struct Element<'a> {
    name: &'a str,
    attributes: &'a str,
    inner: &'a str,
}

impl Element<'_> {
    fn attribute(&self, name: &str) -> Option<&str> {
        let mut rest = self.attributes;
        while let Some((before, after)) = rest.split_once('=') {
            let quote = after.trim_start().chars().next()?;
            let mut parts = after.trim_start().split(quote);
            parts.next();
            let value = parts.next()?;
            if before.split_whitespace().last() == Some(name) {
                return Some(value);
            }
            let end = after.find(quote)? + value.len() + 2;
            rest = after.get(end..)?;
        }
        None
    }
}

/// The statements of a mapper.
fn statements(text: &str) -> Vec<Mapped> {
    let text = without_comments(text);
    let Some(mapper) = elements(&text).into_iter().find(|one| one.name == "mapper") else {
        return Vec::new();
    };
    let namespace = mapper.attribute("namespace").unwrap_or_default();
    let interface = namespace.rsplit('.').next().unwrap_or_default();
    let parts = elements(mapper.inner);
    let mut found = Vec::new();
    for part in &parts {
        let kind = match part.name {
            "select" => "Select",
            "insert" => "Insert",
            "update" => "Update",
            "delete" => "Delete",
            _ => continue,
        };
        let Some(method) = part.attribute("id") else {
            continue;
        };
        let sql = included(part.inner, &parts);
        let sql = match sql.contains("</") || sql.contains("/>") {
            true => format!("<script>{sql}"),
            false => {
                let text = sql.replace("<![CDATA[", "").replace("]]>", "");
                plain(&text).trim().to_string()
            }
        };
        let literal = sql.replace('\\', "\\\\").replace('"', "\\\"");
        let literal = literal.replace('\r', "").replace('\n', "\\n");
        let mut annotation = format!("@{kind}(\"{literal}\") ");
        let inner = elements(part.inner);
        let select_key = inner.iter().find(|one| one.name == "selectKey");
        let key = select_key.and_then(|one| one.attribute("keyProperty"));
        if let Some(key) = part.attribute("keyProperty").or(key) {
            annotation.push_str(&format!("@Options(keyProperty = \"{key}\") "));
        }
        found.push(Mapped {
            interface: interface.to_string(),
            method: method.to_string(),
            annotation,
        });
    }
    found
}

/// A text with its fragments put in.
fn included(text: &str, parts: &[Element<'_>]) -> String {
    let mut text = text.to_string();
    for _ in 0..INCLUDES_MAX {
        let Some(at) = text.find("<include") else {
            break;
        };
        let Some(end) = text[at..].find("/>").map(|end| at + end + 2) else {
            break;
        };
        let wanted = text[at..end].split(['"', '\'']).nth(1).unwrap_or_default();
        let wanted = wanted.rsplit('.').next().unwrap_or(wanted);
        let fragment = parts
            .iter()
            .find(|one| one.name == "sql" && one.attribute("id") == Some(wanted));
        let Some(fragment) = fragment else {
            break;
        };
        text.replace_range(at..end, fragment.inner);
    }
    text
}

/// The elements at the top of a text.
fn elements(text: &str) -> Vec<Element<'_>> {
    let mut found = Vec::new();
    let mut rest = text;
    while let Some(at) = rest.find('<') {
        let tag = &rest[at + 1..];
        let Some(end) = tag.find('>') else {
            break;
        };
        let head = &tag[..end];
        let name = head.split(|c: char| c.is_whitespace() || c == '/').next();
        let name = name.unwrap_or_default();
        let after = &tag[end + 1..];
        if name.is_empty() || head.starts_with(['?', '!', '/']) {
            rest = after;
            continue;
        }
        let attributes = head[name.len()..].trim_end_matches('/');
        if head.ends_with('/') {
            rest = after;
            continue;
        }
        let close = format!("</{name}>");
        let Some(length) = after.find(&close) else {
            break;
        };
        found.push(Element {
            name,
            attributes,
            inner: &after[..length],
        });
        rest = &after[length + close.len()..];
    }
    found
}

fn without_comments(text: &str) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("<!--") {
        out.push_str(before);
        rest = after.split_once("-->").map_or("", |(_, after)| after);
    }
    out.push_str(rest);
    out
}
