import Foundation
import TestSupport

/// The result of fetching a URL with the curl command.
struct Fetched {
    /// The exit code of curl.
    let code: Int32?
    /// All response heads, including interim responses and redirects.
    let heads: String
    /// The path of the file with the body.
    let file: String

    static func byCurl(_ url: String, _ arguments: [String], in directory: TemporaryDirectory) async throws -> Fetched {
        let name = "fetched-\(UInt64.random(in: .min ... .max))"
        let (file, head) = (directory.path(name), directory.path("\(name).head"))
        let outcome = try await ChildProcess.run(
            "curl", ["-sS", "--max-time", "20", "--noproxy", "*", "-o", file, "-D", head] + arguments + [url])
        let heads = (try? fileBytes(head)) ?? []
        return Fetched(code: outcome.code, heads: String(decoding: heads, as: UTF8.self), file: file)
    }

    private var lines: [Substring] { heads.split(whereSeparator: \.isNewline) }

    /// The statuses of all responses, in order.
    var statuses: [Int] {
        lines.filter { $0.hasPrefix("HTTP/") }.compactMap { line in
            line.split(separator: " ").dropFirst().first.flatMap { Int($0) }
        }
    }

    /// The status of the last response.
    var status: Int? { statuses.last }

    /// Returns the value of the last field with this name.
    func field(_ name: String) -> String? {
        lines.last { $0.lowercased().hasPrefix(name.lowercased() + ":") }
            .map { $0.dropFirst(name.count + 1).trimmingCharacters(in: .whitespaces) }
    }

    /// The bytes of the body, or an empty array if there is no file.
    var body: [UInt8] { (try? fileBytes(file)) ?? [] }
}
