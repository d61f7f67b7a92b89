import Foundation

/// A tool that fetches one file, over several connections if it can.
enum SegmentedPeer: String, CaseIterable {
    case curl
    case wget2
    case aria2
    case axel

    func name(_ connections: Int) -> String {
        self == .curl ? rawValue : "\(rawValue) x\(connections)"
    }

    func command(_ job: Job, connections: Int) -> [String] {
        switch self {
        case .curl: return ["curl", "-q", "-sS", "-f", "-o", job.file, job.url]
        case .wget2:
            return [
                "wget2", "--no-config", "-q", "--chunk-size=1M", "--max-threads=\(connections)", "-O", job.file,
                job.url,
            ]
        case .aria2:
            return [
                "aria2c", "--no-conf", "-q", "-x\(connections)", "-s\(connections)", "-k1M", "--file-allocation=none",
                "--allow-overwrite=true", "-d", job.directory, "-o", job.filename, job.url,
            ]
        case .axel: return ["axel", "-q", "-n\(connections)", "-o", job.file, job.url]
        }
    }

    func run(_ job: Job, connections: Int, log: String, limit: Double) throws -> Cost {
        let usage = try ChildProcess.run(command(job, connections: connections), log: log, limit: limit)
        guard usage.exitStatus == 0 else { throw BenchError("\(rawValue) ended with \(usage.exitStatus); see \(log)") }
        return Cost(wall: usage.wall, cpu: usage.cpu, memory: usage.peakMemory)
    }
}
