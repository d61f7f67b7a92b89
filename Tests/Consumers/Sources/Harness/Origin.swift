import Foundation

/// The server on loopback: `origin.py`, on the port in `ORIGIN_PORT`.
public enum Origin {
    public static let port = ProcessInfo.processInfo.environment["ORIGIN_PORT"] ?? "0"

    public static func url(_ path: String) -> URL {
        guard let url = URL(string: "http://127.0.0.1:\(port)\(path)") else {
            fatalError("\(path) is no path of a URL")
        }
        return url
    }

    /// A file whose text is ``text(of:)``.
    public static func file(_ name: String) -> URL { url("/file/\(name)") }

    public static func text(of name: String) -> String {
        String(repeating: "This is \(name).\n", count: 100)
    }

    /// A response that begins and does not end until its connection is closed.
    public static func endless(_ name: String) -> URL { url("/endless/\(name)") }

    /// An identifier that no other run has.
    public static func identifier(_ name: String) -> String {
        "\(name)-\(ProcessInfo.processInfo.processIdentifier)"
    }
}
