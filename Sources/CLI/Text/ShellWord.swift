/// Words of command lines that a person may copy.
enum ShellWord {
    /// `word` as every shell of POSIX takes it for one word: `'it'\''s'` for `it's`.
    static func quoted(_ word: String) -> String {
        "'" + word.replacing("'", with: "'\\''") + "'"
    }
}
