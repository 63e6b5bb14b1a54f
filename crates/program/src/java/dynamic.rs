//! Statements of MyBatis that are put together while they run, written out.
//!
//! Definition: `<if>` is there or not; of `<choose>` one `<when>` is there, or what is otherwise; `<where>`, `<set>`
//! and `<trim>` put words around what is inside of them, and take others off its ends; `<foreach>` is a list of values,
//! or repeats. A *variant* is the text for one answer to each question; the same question asked twice has one answer.
//! Steps: the text becomes a tree; its questions are collected; every way to answer them gives a variant.
//! Cost: the product of the numbers of answers, at most [`VARIANTS_MAX`]; beyond that, everything that may be there is.

/// The most variants of a statement.
const VARIANTS_MAX: usize = 16;
/// Tags in tags are followed this deep.
const DEPTH_MAX: usize = 20;

/// A statement for one way to answer the questions in it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Variant {
    /// The text, with values in braces.
    pub sql: String,
    /// Whether some value is a list.
    pub lists: bool,
    /// What members are called in parts that repeat, and are there once.
    pub members: Vec<String>,
}

/// What a text stands for.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Written {
    /// One of these.
    Out(Vec<Variant>),
    /// More than are followed; the one with every part.
    Whole(Variant),
    /// It has a tag that is not known, or is no tree.
    Not(String),
}

/// Whether a text has tags to be followed.
pub(super) fn is_dynamic(text: &str) -> bool {
    text.contains("<script>")
}

/// A text with tags, written out.
pub(super) fn written(text: &str) -> Written {
    let text = text.replace("<script>", "").replace("</script>", "");
    let root = match tree(&text) {
        Ok(root) => root,
        Err(tag) => return Written::Not(tag),
    };
    let mut questions: Vec<(String, usize)> = Vec::new();
    root.questions(&mut questions);
    let ways = questions.iter();
    let ways = ways.fold(1usize, |ways, (_, answers)| ways.saturating_mul(*answers));
    if ways > VARIANTS_MAX {
        let first = |_: &str| 0;
        return Written::Whole(root.variant(&first));
    }
    let mut found: Vec<Variant> = Vec::new();
    for way in 0..ways {
        let mut rest = way;
        let mut answers: Vec<(&str, usize)> = Vec::new();
        for (question, count) in &questions {
            answers.push((question, rest % count));
            rest /= count;
        }
        let answer = |asked: &str| {
            let known = answers.iter().find(|(question, _)| *question == asked);
            known.map_or(0, |(_, answer)| *answer)
        };
        let variant = root.variant(&answer);
        if !found.contains(&variant) {
            found.push(variant);
        }
    }
    Written::Out(found)
}

/// A tag, or a text between tags.
#[derive(Debug, Default)]
struct Tag {
    /// Empty for a text.
    name: String,
    attributes: Vec<(String, String)>,
    text: String,
    inside: Vec<Tag>,
}

impl Tag {
    fn attribute(&self, name: &str) -> &str {
        let found = self.attributes.iter().find(|(known, _)| known == name);
        found.map_or("", |(_, value)| value.as_str())
    }

    fn reads_table(&self) -> bool {
        let texts = self.inside.iter().map(|one| one.text.to_lowercase());
        let words: Vec<String> = texts
            .flat_map(|text| {
                text.split_whitespace()
                    .map(str::to_string)
                    .collect::<Vec<_>>()
            })
            .collect();
        words
            .windows(2)
            .any(|two| two[0] == "from" && two[1] != "dual")
    }

    /// What a question is called: by what it tests, so that the same test has the same answer.
    fn question(&self) -> String {
        match self.name.as_str() {
            "choose" => {
                let tests = self.inside.iter().map(|one| one.attribute("test"));
                tests.collect::<Vec<&str>>().join(" | ")
            }
            _ => self.attribute("test").to_string(),
        }
    }

    /// The questions inside, each with its number of answers. The depth is bounded by the tree.
    fn questions(&self, found: &mut Vec<(String, usize)>) {
        let answers = match self.name.as_str() {
            "if" => 2,
            "choose" => {
                let when = self.inside.iter().filter(|one| one.name == "when");
                when.count() + 1
            }
            _ => 0,
        };
        let question = (self.question(), answers);
        if answers > 0 && !found.contains(&question) {
            found.push(question);
        }
        for one in &self.inside {
            one.questions(found);
        }
    }

    /// The text for these answers: 0 is that it is there, or the first of several.
    fn variant(&self, answer: &dyn Fn(&str) -> usize) -> Variant {
        match self.name.as_str() {
            "" => Variant {
                sql: self.text.clone(),
                ..Variant::default()
            },
            "if" if answer(&self.question()) > 0 => Variant::default(),
            "choose" => {
                let when = self.inside.iter().filter(|one| one.name == "when");
                let otherwise = || self.inside.iter().find(|one| one.name == "otherwise");
                let mut chosen = when.skip(answer(&self.question()));
                let chosen = chosen.next().or_else(otherwise);
                chosen.map_or_else(Variant::default, |one| one.together(answer))
            }
            "where" => self.trimmed(answer, ("where", &["and ", "or "]), ("", &[])),
            "set" => self.trimmed(answer, ("set", &[","]), ("", &[","])),
            "trim" => {
                let list = |name: &str| -> Vec<String> {
                    let all = self.attribute(name).split('|');
                    all.map(str::to_lowercase)
                        .filter(|w| !w.is_empty())
                        .collect()
                };
                let (before, after) = (list("prefixOverrides"), list("suffixOverrides"));
                let before: Vec<&str> = before.iter().map(String::as_str).collect();
                let after: Vec<&str> = after.iter().map(|word| word.trim()).collect();
                let prefix = (self.attribute("prefix"), before.as_slice());
                self.trimmed(answer, prefix, (self.attribute("suffix"), &after))
            }
            "foreach" => self.repeated(answer),
            "bind" | "selectKey" => Variant::default(),
            _ => self.together(answer),
        }
    }

    fn together(&self, answer: &dyn Fn(&str) -> usize) -> Variant {
        let mut whole = Variant::default();
        for one in &self.inside {
            let part = one.variant(answer);
            whole.sql.push_str(&part.sql);
            whole.lists |= part.lists;
            whole.members.extend(part.members);
        }
        whole
    }

    /// What is inside between two words, without others at its ends; nothing where nothing is inside.
    fn trimmed(
        &self,
        answer: &dyn Fn(&str) -> usize,
        (prefix, before): (&str, &[&str]),
        (suffix, after): (&str, &[&str]),
    ) -> Variant {
        let mut found = self.together(answer);
        let mut text = found.sql.trim();
        if text.is_empty() {
            return Variant::default();
        }
        let spaced = |text: &str| text.to_lowercase().replace(['\n', '\t', '\r'], " ");
        if let Some(word) = before.iter().find(|word| spaced(text).starts_with(**word)) {
            text = text.get(word.len()..).unwrap_or(text);
        }
        if let Some(word) = after.iter().find(|word| spaced(text).ends_with(**word)) {
            text = text.get(..text.len() - word.len()).unwrap_or(text);
        }
        found.sql = format!(" {prefix} {text} {suffix} ");
        found
    }

    /// A value for each member is a list; anything else is there once.
    fn repeated(&self, answer: &dyn Fn(&str) -> usize) -> Variant {
        let mut found = self.together(answer);
        let item = format!("#{{{}}}", self.attribute("item"));
        let inner = found.sql.trim();
        let bare = inner == item;
        let sql = match bare {
            true => format!("#{{{}}}", self.attribute("collection")),
            false => inner.to_string(),
        };
        found.lists |= bare;
        if !bare {
            found.members.push(self.attribute("item").to_string());
        }
        let (open, close) = (self.attribute("open"), self.attribute("close"));
        found.sql = format!(" {open}{sql}{close} ");
        found
    }
}

/// The tree of a text; else the tag that is not known or not closed.
fn tree(text: &str) -> Result<Tag, String> {
    let mut open: Vec<Tag> = vec![Tag {
        name: "script".to_string(),
        ..Tag::default()
    }];
    let mut rest = text;
    while let Some(at) = rest.find('<') {
        push_text(&mut open, &plain(&rest[..at]));
        let tag = &rest[at..];
        if let Some(raw) = tag.strip_prefix("<![CDATA[") {
            let end = raw.find("]]>").ok_or_else(|| "CDATA".to_string())?;
            push_text(&mut open, &raw[..end]);
            rest = &raw[end + 3..];
            continue;
        }
        // A comparison in an annotation is no tag.
        let next = tag[1..].chars().next().unwrap_or(' ');
        if !next.is_ascii_alphabetic() && next != '/' {
            push_text(&mut open, "<");
            rest = &tag[1..];
            continue;
        }
        let end = end_of_tag(tag).ok_or_else(|| "<".to_string())?;
        let head = tag[1..end].trim();
        rest = &tag[end + 1..];
        if let Some(name) = head.strip_prefix('/') {
            close(&mut open, name.trim())?;
            continue;
        }
        let alone = head.ends_with('/');
        let tag = tag_of(head.trim_end_matches('/'))?;
        let name = tag.name.clone();
        open.push(tag);
        if open.len() > DEPTH_MAX {
            return Err(name);
        }
        if alone {
            close(&mut open, &name)?;
        }
    }
    push_text(&mut open, &plain(rest));
    match (open.pop(), open.is_empty()) {
        (Some(root), true) => Ok(root),
        (last, _) => Err(last.map(|one| one.name).unwrap_or_default()),
    }
}

fn push_text(open: &mut [Tag], text: &str) {
    if let Some(last) = open.last_mut() {
        last.inside.push(Tag {
            text: text.to_string(),
            ..Tag::default()
        });
    }
}

fn close(open: &mut Vec<Tag>, name: &str) -> Result<(), String> {
    match open.pop() {
        // A key that comes from a table is a statement of its own.
        Some(tag) if tag.name == "selectKey" && tag.reads_table() => Err(tag.name),
        Some(tag) if tag.name == name && !open.is_empty() => {
            if let Some(outer) = open.last_mut() {
                outer.inside.push(tag);
            }
            Ok(())
        }
        _ => Err(name.to_string()),
    }
}

/// Where a tag ends: at the first `>` outside of quotes.
fn end_of_tag(tag: &str) -> Option<usize> {
    let mut quote: Option<char> = None;
    tag.char_indices().find_map(|(at, c)| match quote {
        Some(open) => {
            quote = quote.filter(|_| c != open);
            None
        }
        None if c == '"' || c == '\'' => {
            quote = Some(c);
            None
        }
        None => (c == '>').then_some(at),
    })
}

/// A tag with its attributes.
fn tag_of(head: &str) -> Result<Tag, String> {
    const KNOWN: [&str; 11] = [
        "if",
        "choose",
        "when",
        "otherwise",
        "where",
        "set",
        "trim",
        "foreach",
        "bind",
        "selectKey",
        "script",
    ];
    let name = head.split_whitespace().next().unwrap_or_default();
    if !KNOWN.contains(&name) {
        return Err(name.to_string());
    }
    let mut attributes = Vec::new();
    let mut rest = &head[name.len()..];
    while let Some((before, after)) = rest.split_once('=') {
        let after = after.trim_start();
        let Some(quote) = after.chars().next().filter(|c| matches!(c, '"' | '\'')) else {
            break;
        };
        let Some((value, next)) = after[1..].split_once(quote) else {
            break;
        };
        attributes.push((before.trim().to_string(), plain(value)));
        rest = next;
    }
    Ok(Tag {
        name: name.to_string(),
        attributes,
        ..Tag::default()
    })
}

/// The text that XML stands for.
pub(super) fn plain(text: &str) -> String {
    let text = text.replace("&lt;", "<").replace("&gt;", ">");
    let text = text.replace("&quot;", "\"").replace("&apos;", "'");
    text.replace("&amp;", "&")
}

#[cfg(test)]
mod tests {
    use super::{Variant, Written, written};

    fn texts(text: &str) -> Vec<String> {
        let spaced = |one: &Variant| {
            let words: Vec<&str> = one.sql.split_whitespace().collect();
            words.join(" ")
        };
        match written(text) {
            Written::Out(all) => all.iter().map(spaced).collect(),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn an_if_is_there_and_is_not() {
        let text = "<script>select a from t <where><if test=\"x != null\">and a = #{x}</if>\
                    <if test='y &gt; 1'> AND b &lt; #{y}</if></where>";
        let expected = [
            "select a from t where a = #{x} AND b < #{y}",
            "select a from t where b < #{y}",
            "select a from t where a = #{x}",
            "select a from t",
        ];
        assert_eq!(texts(text), expected);
    }

    #[test]
    fn the_same_test_has_one_answer() {
        let text = "<script>insert into t <trim prefix=\"(\" suffix=\")\" suffixOverrides=\",\">id,\
                    <if test=\"a != null\">a,</if></trim><trim prefix=\"values (\" suffix=\")\" \
                    suffixOverrides=\",\">#{id},<if test=\"a != null\">#{a},</if></trim>";
        let expected = [
            "insert into t ( id,a ) values ( #{id},#{a} )",
            "insert into t ( id ) values ( #{id} )",
        ];
        assert_eq!(texts(text), expected);
    }

    #[test]
    fn one_of_several_is_chosen() {
        let text = "<script>update t <set><choose><when test=\"a\">x = 1,</when>\
                    <otherwise>x = 2,</otherwise></choose></set> where id = #{id}";
        let expected = [
            "update t set x = 1 where id = #{id}",
            "update t set x = 2 where id = #{id}",
        ];
        assert_eq!(texts(text), expected);
    }

    #[test]
    fn a_value_for_each_is_a_list() {
        let text = "<script>delete from t where id in <foreach collection=\"ids\" item=\"id\" \
                    open=\"(\" separator=\",\" close=\")\">#{id}</foreach></script>";
        let Written::Out(found) = written(text) else {
            panic!();
        };
        assert_eq!(
            found[0].sql.trim_end(),
            "delete from t where id in  (#{ids})"
        );
        assert!(found[0].lists && found[0].members.is_empty());
    }

    #[test]
    fn what_is_no_tree_is_named() {
        assert_eq!(
            written("<script><if test=\"a\">x"),
            Written::Not("if".into())
        );
        assert_eq!(written("<script><new>x</new>"), Written::Not("new".into()));
        let many: String = (0..9)
            .map(|at| format!("<if test=\"a{at}\">a{at} = 1,</if>"))
            .collect();
        let whole = written(&format!("<script>update t <set>{many}</set>"));
        assert!(matches!(whole, Written::Whole(one) if one.sql.contains("a8 = 1")));
    }
}
