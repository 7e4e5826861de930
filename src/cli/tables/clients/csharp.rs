use crate::packet::Dialect;
pub fn print(_: &Dialect) -> String {
    String::new()
}
