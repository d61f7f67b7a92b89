import Foundation
import NightshiftAPI

extension RefreshRow.Found {
    fileprivate var style: String { "use-" + rawValue }
}

/// A drawing of a timeline as SVG. Each subject has a row, and time runs from left to right.
struct TimelineDrawing {
    let timeline: Timeline
    let axis: TimeAxis
    let title: String
    private var document = SVGDocument()
    /// The vertical position of the next row.
    private var y = Self.top

    private static let width: Double = 1_280
    private static let left: Double = 168
    private static let right: Double = 28
    private static let top: Double = 96
    /// The minimum width of a span in the picture. In a picture with many spans it is smaller, so that spans do not
    /// cover each other.
    private var leastWidth: Double { timeline.device.count > Self.manySpans ? 1 : 2 }
    private static let manySpans = 60
    private static let plotWidth = width - left - right

    static func svg(_ timeline: Timeline, title: String, timeZone: TimeZone) -> String {
        var drawing = TimelineDrawing(timeline: timeline, title: title, timeZone: timeZone)
        return drawing.draw()
    }

    private init(timeline: Timeline, title: String, timeZone: TimeZone) {
        self.timeline = timeline
        self.title = title
        axis = TimeAxis(start: timeline.start, end: timeline.end, timeZone: timeZone)
    }

    private mutating func draw() -> String {
        // The rows are drawn a first time to find their height, which the background needs.
        var rows = self
        rows.drawRows()
        let bottom = rows.y
        let legend = legendPlaces
        let height = bottom + 26 + 18 * max(2, (legend.last?.line ?? 0) + 1)
        document.rectangle(x: 0, y: 0, width: Self.width, height: height, style: "page")
        document.text(title, x: 20, y: 32, style: "title")
        document.text(subtitle, x: 20, y: 52, style: "subtitle")
        drawBands(to: bottom)
        drawAxis(to: bottom)
        drawRows()
        drawLegend(legend, at: bottom + 24)
        return document.rendered(
            width: Self.width, height: height, title: title, description: description, style: TimelinePalette.style,
            definitions: TimelinePalette.definitions)
    }

    /// The description of the picture for screen readers.
    private var description: String {
        ([subtitle] + timeline.apps.compactMap { app in app.refresh.sentence.map { "\(app.id): \($0)" } })
            .joined(separator: "\n")
    }

    private var subtitle: String {
        let sameDay = axis.day(timeline.start) == axis.day(timeline.end)
        let span =
            "\(axis.day(timeline.start)), \(axis.clock(timeline.start)) to "
            + (sameDay ? "" : "\(axis.day(timeline.end)), ") + axis.clock(timeline.end)
        return ([span] + sums).joined(separator: "   ·   ")
    }

    /// The total duration of each activity of the device, most important first.
    private var sums: [String] {
        let known = Timeline.DeviceActivity.allCases.compactMap { activity -> String? in
            let spans = timeline.device.filter { $0.value == activity }
            let seconds = spans.reduce(0) { $0 + $1.seconds }
            guard seconds >= 1 else { return nil }
            if activity == .window {
                return "\(spans.count) maintenance \(spans.count == 1 ? "window" : "windows"), "
                    + QuantityText.duration(seconds)
            }
            return "\(activity.words) \(QuantityText.duration(seconds))"
        }
        let rest = timeline.unknownSeconds
        return rest >= 1 ? known + ["\(Self.unknown) \(QuantityText.duration(rest))"] : known
    }

    private static let unknown = "unknown"

    // MARK: - Background

    private mutating func drawBands(to bottom: Double) {
        for span in timeline.device {
            let style: String? =
                switch span.value {
                case .dozing, .asleep: "doze-band"
                case .window: "window-band"
                case .held: "held-band"
                case .inUse, .awake: nil
                }
            guard let style else { continue }
            // A band has its true width. With a minimum width, it would make a short time look long.
            let x = x(span.from)
            let width = self.x(span.to) - x
            document.rectangle(x: x, y: Self.top - 8, width: width, height: bottom - Self.top + 8, style: style)
        }
    }

    private mutating func drawAxis(to bottom: Double) {
        for tick in axis.ticks {
            let x = x(tick.date)
            let number = SVGDocument.number(x)
            document.path("M\(number) \(Self.top - 8)V\(SVGDocument.number(bottom))", style: "grid")
            document.text(tick.label, x: x, y: Self.top - 14, style: "tick")
            guard let day = tick.day else { continue }
            let isLast = x > Self.width - Self.right - 20
            document.text(
                day, x: isLast ? Self.width - 8 : x, y: Self.top - 28, style: isLast ? "day last" : "day")
        }
    }

    // MARK: - Rows

    private mutating func drawRows() {
        y = Self.top
        drawDevice()
        if !timeline.apps.isEmpty { section("APPS") }
        for app in timeline.apps { draw(app) }
        if !timeline.transfers.isEmpty { section("TRANSFERS") }
        for row in timeline.transfers { draw(row) }
        if timeline.hidden > 0 {
            document.text("\(timeline.hidden) more", x: Self.left - 12, y: y + 12, style: "label note")
            y += 20
        }
    }

    private mutating func section(_ name: String) {
        y += 10
        document.text(name, x: 20, y: y + 10, style: "section")
        y += 20
    }

    private mutating func drawDevice() {
        label("Device", at: y + 19)
        if timeline.unknownSeconds >= 1 { baseline(at: y + 14) }
        bars(
            timeline.device, height: 28, style: { $0.rawValue }, words: { $0.words },
            inside: { $0 == .asleep ? "on-asleep" : "on-bar" })
        y += 34
        if !timeline.power.isEmpty {
            label("Power", at: y + 11)
            bars(
                timeline.power, height: 14, style: { $0.rawValue },
                words: { $0 == .external ? "external power" : "on battery" }, inside: { _ in "on-bar strip" })
            y += 18
        }
        if !timeline.network.isEmpty {
            label("Network", at: y + 11)
            bars(
                timeline.network, height: 14,
                style: { !$0.isAvailable ? "offline" : $0.isExpensive ? "expensive" : "network" },
                words: { $0.words }, inside: { $0.isExpensive ? "on-bar strip" : "on-bar strip on-network" })
            y += 18
        }
    }

    private mutating func draw(_ app: Timeline.AppRow) {
        label(AppLabel.short(app.id), at: y + 14, title: app.id.rawValue)
        baseline(at: y + 9)
        // The active state is drawn later than the others, so that short background states do not cover it.
        bars(app.states.filter { $0.value != .active }, height: 18, style: { $0.rawValue }, words: { $0.words })
        bars(app.states.filter { $0.value == .active }, height: 18, style: { $0.rawValue }, words: { $0.words })
        let marks = y
        y += 21
        draw(app.refresh)
        drawTasks(app.tasks)
        for mark in app.marks { draw(mark, at: marks) }
        y += 6
    }

    /// Draws the freshness of an app's content: a band while it was fresh, a disc for each fetch, and a bar for each
    /// use.
    private mutating func draw(_ refresh: RefreshRow) {
        guard !refresh.isEmpty else { return }
        for span in refresh.fresh {
            let x = x(span.start)
            document.rectangle(x: x, y: y + 3, width: self.x(span.end) - x, height: 6, style: "fresh-band")
        }
        for use in refresh.uses {
            let (x, width) = place(use.from, use.to)
            document.rectangle(
                x: x, y: y, width: width, height: 12, style: use.value.style,
                title: "\(use.value.words)\n\(range(use.from, use.to))")
        }
        for fetch in refresh.fetches {
            let words = fetch.value?.words ?? (fetch.to < timeline.end ? "ended, result unknown" : "running")
            let title = ["fetch: \(words)", range(fetch.from, fetch.to), fetch.note].compactMap(\.self)
            drawFetch(fetch.value, x: x(fetch.to), y: y + 6, title: title.joined(separator: "\n"))
        }
        y += 15
    }

    /// Draws a fetch as a disc. The disc is filled if the fetch brought new data, hollow if not, and crossed out if it
    /// failed.
    private mutating func drawFetch(_ result: RefreshResult?, x: Double, y: Double, title: String? = nil) {
        let start = "M\(SVGDocument.number(x - 3.5)) \(SVGDocument.number(y))"
        let disc = start + "a3.5 3.5 0 1 0 7 0a3.5 3.5 0 1 0 -7 0z"
        document.path(
            result == .failed ? disc + "m1 2.5l5 -5" : disc, style: "fetch \(result?.rawValue ?? "noData")",
            title: title)
    }

    /// Draws tasks that overlap below each other. If they need too many rows, the last row contains the rest.
    private mutating func drawTasks(_ tasks: [Timeline.Span<String>]) {
        guard !tasks.isEmpty else { return }
        var ends: [Date] = []
        for task in tasks {
            let free = ends.firstIndex { $0 <= task.from }
            let lane = free ?? min(ends.count, Self.mostTaskLanes - 1)
            if lane < ends.count { ends[lane] = max(ends[lane], task.to) } else { ends.append(task.to) }
            let (x, width) = place(task.from, task.to)
            let top = y + Double(lane) * 7
            document.rectangle(
                x: x, y: top, width: width, height: 4, style: "task", radius: 2,
                title: "background task \(task.value)\n\(range(task.from, task.to))")
        }
        y += Double(ends.count) * 7
    }

    private static let mostTaskLanes = 3

    private mutating func draw(_ mark: Timeline.Mark, at top: Double) {
        guard (timeline.start...timeline.end).contains(mark.at) else { return }
        let x = SVGDocument.number(x(mark.at))
        let title = "\(mark.kind.words)\n\(axis.clock(mark.at)): \(mark.note)"
        let base = SVGDocument.number(top + 9)
        switch mark.kind {
        case .woken: document.path("M\(x) \(base)m-5 9l5 -9l5 9z", style: "woken", title: title)
        case .expiring: document.path("M\(x) \(base)m0 -6l5 6l-5 6l-5 -6z", style: "expiring", title: title)
        case .killed: document.path("M\(x) \(base)m-6 -6l12 12m0 -12l-12 12", style: "killed", title: title)
        }
    }

    private mutating func draw(_ row: Timeline.TransferRow) {
        label(row.label, at: y + 10)
        baseline(at: y + 6)
        for span in row.spans {
            let isRunning = span.value == .running
            let (x, width) = place(span.from, span.to)
            let words = isRunning ? "runs" : "waits"
            document.rectangle(
                x: x, y: isRunning ? y : y + 4, width: width, height: isRunning ? 12 : 4,
                style: isRunning ? "running" : "waiting", radius: isRunning ? 2 : 1,
                title: ["\(row.label) \(words)", range(span.from, span.to), span.note].compactMap(\.self)
                    .joined(separator: "\n"))
        }
        y += 17
    }

    /// Draws the spans of one row. Narrow spans are drawn over wide ones.
    private mutating func bars<Value>(
        _ spans: [Timeline.Span<Value>], height: Double, style: (Value) -> String, words: (Value) -> String,
        inside: ((Value) -> String)? = nil
    ) {
        for span in spans.sorted(by: { ($1.seconds, $0.from) < ($0.seconds, $1.from) }) {
            guard span.to > timeline.start, span.from < timeline.end else { continue }
            let (x, width) = place(span.from, span.to)
            let title = [words(span.value), range(span.from, span.to), span.note].compactMap(\.self)
            document.rectangle(
                x: x, y: y, width: width, height: height, style: style(span.value),
                title: title.joined(separator: "\n"))
            let text = words(span.value)
            if let inside, width > Double(text.count) * 6.4 + 12 {
                document.text(text, x: x + 6, y: y + height / 2 + 4, style: inside(span.value))
            }
        }
    }

    private mutating func label(_ text: String, at baseline: Double, title: String? = nil) {
        let room = 21
        let short = text.count > room ? text.prefix(room - 1) + "…" : text[...]
        document.text(String(short), x: Self.left - 12, y: baseline, style: "label", title: title ?? text)
    }

    private mutating func baseline(at y: Double) {
        let height = SVGDocument.number(y)
        document.path(
            "M\(SVGDocument.number(Self.left)) \(height)H\(SVGDocument.number(Self.width - Self.right))", style: "base")
    }

    // MARK: - The legend

    /// The positions of the entries of the legend, on as many lines as are needed.
    private var legendPlaces: [(style: String, words: String, x: Double, line: Double)] {
        var x = 20.0
        var line = 0.0
        return legend.map { style, words in
            let width = 22 + Double(words.count) * 6.3 + 18
            if x + width > Self.width - 20 {
                x = 20
                line += 1
            }
            defer { x += width }
            return (style, words, x, line)
        }
    }

    private mutating func drawLegend(
        _ places: [(style: String, words: String, x: Double, line: Double)], at top: Double
    ) {
        for (style, words, x, line) in places {
            let y = top + 18 * line
            switch style {
            case "woken":
                document.path("M\(SVGDocument.number(x + 7)) \(SVGDocument.number(y - 9))l5 9h-10z", style: style)
            case "expiring":
                document.path(
                    "M\(SVGDocument.number(x + 7)) \(SVGDocument.number(y - 10))l5 5l-5 5l-5 -5z", style: style)
            case "killed":
                document.path("M\(SVGDocument.number(x + 2)) \(SVGDocument.number(y - 10))l9 9m0 -9l-9 9", style: style)
            case "task": document.rectangle(x: x, y: y - 6, width: 14, height: 4, style: style, radius: 2)
            case "fresh-band": document.rectangle(x: x, y: y - 8, width: 14, height: 6, style: style)
            case "use-fresh", "use-stale", "use-unknown":
                document.rectangle(x: x + 5, y: y - 11, width: 3, height: 12, style: style)
            case "newData", "noData", "failed":
                drawFetch(RefreshResult(rawValue: style), x: x + 7, y: y - 5)
            case "base":
                document.path("M\(SVGDocument.number(x)) \(SVGDocument.number(y - 5))h14", style: style)
            default: document.rectangle(x: x, y: y - 10, width: 14, height: 10, style: style)
            }
            document.text(words, x: x + 20, y: y - 1, style: "legend")
        }
    }

    /// The entries of the legend for the marks that occur in the drawing.
    private var legend: [(String, String)] {
        let device = values(timeline.device)
        let power = values(timeline.power)
        let networks = values(timeline.network)
        let states = values(timeline.apps.flatMap(\.states))
        let marks = Set(timeline.apps.flatMap(\.marks).map(\.kind))
        let transfers = values(timeline.transfers.flatMap(\.spans))
        var result = Timeline.DeviceActivity.allCases.filter { device.contains($0) }.map { ($0.rawValue, $0.words) }
        func add(_ style: String, _ words: String, if isThere: Bool) {
            if isThere { result.append((style, words)) }
        }
        add("base", "device: \(Self.unknown)", if: timeline.unknownSeconds >= 1)
        add("external", "external power", if: power.contains(.external))
        add("battery", "on battery", if: power.contains(.battery))
        add("network", "network", if: networks.contains { $0.isAvailable && !$0.isExpensive })
        add("expensive", "metered network", if: networks.contains { $0.isAvailable && $0.isExpensive })
        add("offline", "no network", if: networks.contains { !$0.isAvailable })
        for state in Timeline.AppActivity.allCases where states.contains(state) {
            add(state.rawValue, "app: " + state.words, if: true)
        }
        let refresh = timeline.apps.map(\.refresh)
        for result in RefreshResult.allCases {
            add(result.rawValue, "fetch: " + result.words, if: refresh.contains { $0.count(result) > 0 })
        }
        add("fresh-band", "content fresh", if: refresh.contains { !$0.fresh.isEmpty })
        for found in RefreshRow.Found.allCases {
            add(found.style, found.words, if: refresh.contains { $0.count(found) > 0 })
        }
        add("task", "background task", if: timeline.apps.contains { !$0.tasks.isEmpty })
        for mark in Timeline.Mark.Kind.allCases where marks.contains(mark) { add(mark.rawValue, mark.words, if: true) }
        add("running", "transfer runs", if: transfers.contains(.running))
        add("waiting", "transfer waits", if: transfers.contains(.waiting))
        return result
    }

    /// Returns the values of the spans.
    private func values<Value>(_ spans: [Timeline.Span<Value>]) -> Set<Value> {
        Set(spans.map(\.value))
    }

    // MARK: - Positions

    private func x(_ date: Date) -> Double {
        let part = date.timeIntervalSince(timeline.start) / timeline.seconds
        return Self.left + max(0, min(1, part)) * Self.plotWidth
    }

    private func place(_ from: Date, _ to: Date) -> (x: Double, width: Double) {
        let start = x(from)
        let width = max(leastWidth, x(to) - start)
        return (min(start, Self.width - Self.right - width), width)
    }

    private func range(_ from: Date, _ to: Date) -> String {
        "\(axis.clock(from)) to \(axis.clock(to)), \(QuantityText.duration(to.timeIntervalSince(from)))"
    }
}
