import Foundation

/// Another tool for the same task, with its default settings and without a configuration file.
enum Peer: String, CaseIterable {
    case curl
    case wget2
    case aria2 = "aria2 x1"
    case aria2x4 = "aria2 x4"

    /// Returns the command that fetches one file.
    func command(_ job: Job) -> [String] {
        let authority = job.authority
        switch self {
        case .curl:
            return ["curl", "-q", "-sS", "-f", "-o", job.file] + (authority.map { ["--cacert", $0] } ?? []) + [job.url]
        case .wget2:
            return ["wget2", "--no-config", "-q", "-O", job.file]
                + (authority.map { ["--ca-certificate=\($0)"] } ?? []) + [job.url]
        case .aria2, .aria2x4:
            let count = self == .aria2 ? "1" : "4"
            return [
                "aria2c", "--no-conf", "-q", "-x\(count)", "-s\(count)", "-k1M", "--file-allocation=none",
                "--allow-overwrite=true", "-d", job.directory, "-o", job.filename,
            ] + (authority.map { ["--ca-certificate=\($0)"] } ?? []) + [job.url]
        }
    }

    /// Returns the command that fetches many files into a folder, sixteen at a time. The command may write its input to
    /// the file `list`.
    func command(many urls: [String], directory: String, list: String, authority: String?) throws -> [String]? {
        switch self {
        case .curl:
            let lines = urls.map {
                "url = \"\($0)\"\noutput = \"\(directory)/\(URL(string: $0)?.lastPathComponent ?? "")\""
            }
            try lines.joined(separator: "\n").write(toFile: list, atomically: false, encoding: .utf8)
            return ["curl", "-q", "-sS", "-f", "-Z", "--parallel-max", "16", "-K", list]
                + (authority.map { ["--cacert", $0] } ?? [])
        case .wget2:
            try urls.joined(separator: "\n").write(toFile: list, atomically: false, encoding: .utf8)
            return ["wget2", "--no-config", "-q", "--max-threads=16", "-P", directory, "-i", list]
                + (authority.map { ["--ca-certificate=\($0)"] } ?? [])
        case .aria2:
            try urls.joined(separator: "\n").write(toFile: list, atomically: false, encoding: .utf8)
            return ["aria2c", "--no-conf", "-q", "-j16", "--file-allocation=none", "-d", directory, "-i", list]
                + (authority.map { ["--ca-certificate=\($0)"] } ?? [])
        case .aria2x4:
            return nil
        }
    }

    func run(_ command: [String], log: String, limit: Double) throws -> Cost {
        let usage = try ChildProcess.run(command, log: log, limit: limit)
        guard usage.exitStatus == 0 else { throw BenchError("\(rawValue) ended with \(usage.exitStatus); see \(log)") }
        return Cost(wall: usage.wall, cpu: usage.cpu, memory: usage.peakMemory)
    }

    /// Returns the names and versions of the installed programs.
    static func versions(workspace: Workspace) throws -> [String] {
        try [
            ["curl", "--version"], ["wget2", "--version"], ["aria2c", "--version"], ["axel", "--version"],
            ["/usr/sbin/nginx", "-v"],
        ].map {
            let log = "\(workspace.path)/version"
            try? FileManager.default.removeItem(atPath: log)
            _ = try ChildProcess.run($0, log: log, limit: 10)
            let text = try String(contentsOfFile: log, encoding: .utf8)
            let words = (text.split(separator: "\n").first ?? "").split(separator: " ")
            return words.prefix(words.first == "aria2" ? 3 : words.first == "GNU" ? 3 : words.first == "nginx" ? 3 : 2)
                .joined(separator: " ")
        }
    }
}
