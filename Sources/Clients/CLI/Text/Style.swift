/// The colours for important words, which are used only if the terminal and the user allow colours.
struct Style: Sendable {
    var isEnabled: Bool

    func good(_ text: String) -> String { wrapped(text, "32") }
    func bad(_ text: String) -> String { wrapped(text, "31") }
    func warning(_ text: String) -> String { wrapped(text, "33") }
    func faint(_ text: String) -> String { wrapped(text, "2") }
    func strong(_ text: String) -> String { wrapped(text, "1") }

    private func wrapped(_ text: String, _ code: String) -> String {
        isEnabled ? "\u{1b}[\(code)m\(text)\u{1b}[0m" : text
    }
}
