import ArgumentParser
import NightshiftAPI

/// `NAME` or `NAME:PASSWORD`, as curl writes whom to log in as.
enum UserArgument {
    static func check(_ text: String?) throws {
        if let text, text.isEmpty || text.hasPrefix(":") { throw ValidationError("--user needs a name.") }
    }

    /// Asks for the password where `text` has none.
    static func credential(_ text: String, _ invocation: Invocation) throws -> Credential {
        if let colon = text.firstIndex(of: ":") {
            return Credential(user: String(text[..<colon]), password: String(text[text.index(after: colon)...]))
        }
        let name = TerminalText.escaped(text)
        return Credential(
            user: text, password: try PasswordPrompt.read("Password for \(name): ", errors: invocation.errors))
    }
}
