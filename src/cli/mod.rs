//! The command line: XProf's argument language (`fire`), and one file per command (`commands`).
