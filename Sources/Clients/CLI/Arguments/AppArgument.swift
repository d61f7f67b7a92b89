import ArgumentParser
import Foundation
import NightshiftAPI

/// An app on the command line: the id of a desktop entry, with or without `.desktop`, or the path of a program.
struct AppArgument: Hashable, Sendable {
    var text: String

    static let help = ArgumentHelp(
        "The app's id, such as org.example.Photos, or the path of a program.", valueName: "id")

    static func parse(_ text: String) throws -> AppArgument {
        guard !text.isEmpty else { throw ValidationError("the id of an app must not be empty") }
        return AppArgument(text: text)
    }
}

extension Invocation {
    /// Returns the app's id. An argument with a slash is a path, relative to the current directory.
    func appID(_ argument: AppArgument) throws -> AppID {
        let text = argument.text
        if text.contains("/") { return AppID(rawValue: try absolute(text)) }
        let suffix = ".desktop"
        let isFileName = text.hasSuffix(suffix) && text.count > suffix.count
        return AppID(rawValue: isFileName ? String(text.dropLast(suffix.count)) : text)
    }
}
