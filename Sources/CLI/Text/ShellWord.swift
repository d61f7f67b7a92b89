/// Quotes words of command lines that a user may copy.
enum ShellWord {
    /// Returns `word` quoted for POSIX shells: `'it'\''s'` for `it's`.
    static func quoted(_ word: String) -> String {
        "'" + word.replacing("'", with: "'\\''") + "'"
    }
}
