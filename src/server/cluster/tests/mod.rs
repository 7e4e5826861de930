//! Tests of leases: single rules, and a simulated cluster.

mod cluster_model;
mod rules;
mod simulation;
