import Foundation
import Glibc

@main
struct Main {
    static func main() {
        let arguments = Array(CommandLine.arguments.dropFirst())
        if arguments.contains("--help") || arguments.contains("-h") {
            print(Options.usage)
            return
        }
        do {
            try run(try Options(arguments))
        } catch {
            try? FileHandle.standardError.write(contentsOf: Data("nightshift-bench: \(error)\n".utf8))
            exit(1)
        }
    }

    private static func run(_ options: Options) throws {
        let disk = try Workspace(below: options.disk)
        let memory = try Workspace(below: options.memory)
        var succeeded = false
        defer {
            memory.remove()
            // The log is kept because it may explain a failure.
            if succeeded { disk.remove() }
        }
        let origin = try Origin(workspace: memory)
        defer { origin.stop() }
        let bench = Bench(options: options, disk: disk, memory: memory, origin: origin)

        let sections = try options.parts.flatMap { part -> [Section] in
            let section = try Self.section(part, bench)
            // If a part has rounds, it measures the earlier version in each round.
            guard let earlier = bench.earlier, part.isOfNightshiftAlone else { return [section] }
            var before = try Self.section(part, earlier)
            before.title += ", earlier"
            before.headlines = []
            return [section, before]
        }
        let report = Report(
            machine: Report.machine(), versions: try Peer.versions(workspace: disk), command: "make bench",
            sections: sections)
        print(report.markdown)
        if let output = options.output, options.isWhole {
            try report.markdown.write(toFile: output, atomically: true, encoding: .utf8)
            bench.note("written to \(output)")
        }
        succeeded = true
    }

    private static func section(_ part: Options.Part, _ bench: Bench) throws -> Section {
        switch part {
        case .tail: try SegmentedDownloads(bench: bench).tail()
        case .cap: try SegmentedDownloads(bench: bench).cap()
        case .trip: try SegmentedDownloads(bench: bench).trip()
        case .upload: try BrokenUpload(bench: bench).run()
        case .throughput: try Throughput(bench: bench).run()
        case .small: try SmallFiles(bench: bench).run()
        case .http2: try SmallFiles(bench: bench, isHTTP2: true).run()
        case .backlog: try Backlog(bench: bench).run()
        case .latency: try Latency(bench: bench).run()
        case .stop: try Stopping(bench: bench).run()
        case .idle: try Idle(bench: bench).run()
        case .apps: try Apps(bench: bench).run()
        case .freshness: try Freshness(bench: bench).run()
        case .receiver: try Receiver(bench: bench).run()
        case .push: try Push(bench: bench).run()
        case .yield: try Yielding(bench: bench).run()
        }
    }
}

extension Options.Part {
    /// Whether an earlier version is measured after this one, and not alternately with it.
    fileprivate var isOfNightshiftAlone: Bool {
        switch self {
        case .tail, .cap, .trip, .upload, .backlog, .latency, .stop, .idle, .apps: true
        case .throughput, .small, .http2, .freshness, .receiver, .push, .yield: false
        }
    }
}
