import Foundation

/// The results of one part of the benchmark.
struct Section {
    var title: String
    /// The method, described in a sentence or two.
    var method: String
    var header: [String]
    var rows: [[String]] = []
    /// The aims, each with the measured value.
    var findings: [Finding] = []
    /// The results for the summary at the top of the report.
    var headlines: [Headline] = []

    struct Headline {
        var what: String
        var result: String
    }

    struct Finding {
        var aim: String
        var measured: String
        var isMet: Bool
    }

    init(title: String, method: String, header: [String]) {
        self.title = title
        self.method = method
        self.header = header
    }

    var markdown: String {
        var lines = ["## \(title)", "", method, ""]
        lines.append("| " + header.joined(separator: " | ") + " |")
        lines.append("|---|" + String(repeating: "---:|", count: header.count - 1))
        lines += rows.map { "| " + $0.joined(separator: " | ") + " |" }
        if !findings.isEmpty {
            lines += ["", "| Aim | Measured | |", "|---|---|---|"]
            lines += findings.map { "| \($0.aim) | \($0.measured) | \($0.isMet ? "met" : "**missed**") |" }
        }
        return lines.joined(separator: "\n") + "\n"
    }
}

/// The document that a full run writes.
struct Report {
    var machine: String
    var versions: [String]
    var command: String
    var sections: [Section]

    var markdown: String {
        """
        # Benchmarks

        `\(command)` wrote this page on \(Date.now.formatted(.iso8601)). In each round all programs ran one after the other. The tables show
        medians over the rounds, and medians of the ratios within a round. **The ratios are the result.** Absolute times are noisy, because
        the server runs on the same processors as the programs. CPU is the user and system time of whole processes; for Nightshift it is
        that of the service and the command line together.

        - Machine: \(machine)
        - Programs: \(versions.joined(separator: "; "))

        \(summary)\(sections.map(\.markdown).joined(separator: "\n"))
        """
    }

    /// The results that a newcomer reads first.
    private var summary: String {
        let headlines = sections.flatMap(\.headlines)
        guard !headlines.isEmpty else { return "" }
        let rows = headlines.map { "| \($0.what) | \($0.result) |\n" }.joined()
        return "## In short\n\n| | Nightshift |\n|---|---|\n\(rows)\n"
    }

    static func machine() -> String {
        func value(_ key: String, _ path: String) -> String? {
            (try? String(contentsOfFile: path, encoding: .utf8))?.split(separator: "\n")
                .first { $0.hasPrefix(key) }?.split(separator: ":", maxSplits: 1).last?
                .trimmingCharacters(in: .whitespaces)
        }
        let kernel = (try? String(contentsOfFile: "/proc/sys/kernel/osrelease", encoding: .utf8)) ?? ""
        return [
            "\(ProcessInfo.processInfo.activeProcessorCount) processors",
            value("model name", "/proc/cpuinfo") ?? "processor unknown",
            "\(ProcessInfo.processInfo.physicalMemory >> 30) GiB of memory",
            "Linux \(kernel.trimmingCharacters(in: .whitespacesAndNewlines))",
        ].joined(separator: ", ")
    }
}
