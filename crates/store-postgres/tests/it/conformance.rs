//! The ports' conformance suite.

use ostiary_domain::store_conformance;

use crate::bench::DatabaseBench;

store_conformance!(DatabaseBench::new());
