//! The server from outside, over sockets, with a shell script in the place of the program.

mod browsing;
mod client;
mod jobs;
mod limits;
mod safety;
mod site;
