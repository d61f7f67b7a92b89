import ArgumentParser

/// An option that took the URL of a command as its value, because its own value is missing.
struct TakenURL {
    /// The option as users type it.
    var option: String
    var value: String?
    /// The value that the option needs, such as "a file name: -o FILE".
    var needs: String

    /// Returns the error for the first option whose value is a URL; nil if no value is one.
    static func mistake(_ options: [TakenURL]) -> ValidationError? {
        for option in options {
            guard let value = option.value, value.contains("://") else { continue }
            let url = TaskText.shown(url: value)
            return ValidationError("\(option.option) took '\(url)' as its value. Give \(option.needs)")
        }
        return nil
    }

    static func output(_ value: String?) -> Self { Self(option: "-o", value: value, needs: "a file name: -o FILE") }

    static func directory(_ value: String?) -> Self {
        Self(option: "-d", value: value, needs: "a directory: -d DIRECTORY")
    }

    static func user(_ value: String?) -> Self {
        Self(option: "--user", value: value, needs: "a user name: --user NAME")
    }
}
