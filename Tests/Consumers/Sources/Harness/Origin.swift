import Foundation

/// The test server on the loopback interface. It is `origin.py`, on the port in `ORIGIN_PORT`.
public enum Origin {
    public static let port = ProcessInfo.processInfo.environment["ORIGIN_PORT"] ?? "0"

    public static func url(_ path: String) -> URL {
        guard let url = URL(string: "http://127.0.0.1:\(port)\(path)") else {
            fatalError("\(path) is no path of a URL")
        }
        return url
    }

    /// Returns the URL of a file whose content is ``text(of:)``.
    public static func file(_ name: String) -> URL { url("/file/\(name)") }

    public static func text(of name: String) -> String {
        String(repeating: "This is \(name).\n", count: 100)
    }

    /// Returns the URL of a response that does not end before its connection is closed.
    public static func endless(_ name: String) -> URL { url("/endless/\(name)") }

    /// Returns an identifier that no other run uses.
    public static func identifier(_ name: String) -> String {
        "\(name)-\(ProcessInfo.processInfo.processIdentifier)"
    }
}
