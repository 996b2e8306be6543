//! Builds the crate anew when a migration is added: `sqlx::migrate!` embeds them, and cargo does not see new files.

fn main() {
    println!("cargo:rerun-if-changed=../../migrations/postgres");
}
