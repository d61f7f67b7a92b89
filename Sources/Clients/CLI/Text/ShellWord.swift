/// A quoter for words in commands that the user may copy.
enum ShellWord {
    /// Returns `word` quoted for POSIX shells: `'it'\''s'` for `it's`.
    static func quoted(_ word: String) -> String {
        "'" + word.replacing("'", with: "'\\''") + "'"
    }
}
