import ArgumentParser
import NightshiftAPI

/// The option `--user` with `NAME` or `NAME:PASSWORD`, as in curl.
struct UserOption: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "Log in with this user name. You are asked for the password, unless it follows after a colon.",
            valueName: "name[:password]"))
    var user: String?

    func validate() throws {
        if let user, user.isEmpty || user.hasPrefix(":") { throw ValidationError("--user needs a name.") }
    }

    /// Returns the user name and the password, and asks for the password if the option has only a name.
    func credential(_ invocation: Invocation) throws -> Credential? {
        guard let user else { return nil }
        if let colon = user.firstIndex(of: ":") {
            return Credential(user: String(user[..<colon]), password: String(user[user.index(after: colon)...]))
        }
        let name = TerminalText.escaped(user)
        return Credential(
            user: user, password: try PasswordPrompt.read("Password for \(name): ", errors: invocation.errors))
    }
}
