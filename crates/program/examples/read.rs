//! Prints what the front ends make of files: `read schema.sql… [Program.java…]`.

fn main() {
    for path in std::env::args().skip(1) {
        let text = std::fs::read_to_string(&path).unwrap_or_default();
        match program::schema_of(&text, &path) {
            Ok((schema, notes)) => {
                println!("{schema}");
                for note in notes {
                    println!("note: {note}");
                }
            }
            Err(error) => println!("ERROR {error}"),
        }
    }
}
