//! The store on a real PostgreSQL server, a database for each test.

mod bench;
mod conformance;
mod kill;
mod outage;
mod replicas;
mod tables;
mod tls;
