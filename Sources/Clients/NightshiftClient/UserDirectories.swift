package import Foundation

/// The user's directories (user directories of freedesktop.org).
package enum UserDirectories {
    /// Returns the path of the user's home folder without a slash at its end.
    package static func home(environment: [String: String], home: URL) -> String {
        let path = (environment["HOME"].flatMap { $0.hasPrefix("/") ? $0 : nil }) ?? home.path(percentEncoded: false)
        return path.count > 1 && path.hasSuffix("/") ? String(path.dropLast()) : path
    }

    /// Returns the path of the user's folder for downloads.
    package static func downloads(environment: [String: String], home: URL) -> String {
        let folder = Self.home(environment: environment, home: home)
        let configuration =
            environment["XDG_CONFIG_HOME"].flatMap { $0.hasPrefix("/") ? $0 : nil } ?? folder + "/.config"
        return downloads(
            userDirectories: try? String(contentsOfFile: configuration + "/user-dirs.dirs", encoding: .utf8),
            home: folder)
    }

    /// Returns the user's folder for downloads, or `Downloads` in the home folder.
    ///
    /// - Parameter userDirectories: the text of `user-dirs.dirs`.
    package static func downloads(userDirectories: String?, home: String) -> String {
        for line in (userDirectories ?? "").split(separator: "\n") where line.hasPrefix("XDG_DOWNLOAD_DIR=") {
            var value = line.dropFirst("XDG_DOWNLOAD_DIR=".count)
            guard value.count > 2, value.first == "\"", value.last == "\"" else { continue }
            value = value.dropFirst().dropLast()
            if value.hasPrefix("/") { return String(value) }
            if value.hasPrefix("$HOME/") { return home + value.dropFirst("$HOME".count) }
        }
        return home + "/Downloads"
    }
}
