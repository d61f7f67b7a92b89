import Foundation
import FoundationXML
import NightshiftAPI
import Testing

@testable import CLI

struct TimelineDrawingTests {
    private func svg(_ timeline: Timeline, title: String = "Evening") -> String {
        TimelineDrawing.svg(timeline, title: title, timeZone: .gmt)
    }

    @Test func golden() throws {
        try Fixture.check("timeline", svg(TimelineSamples.timeline))
    }

    @Test func `L5: The picture is well-formed XML and escapes the names of tasks`() throws {
        let reading = XMLReading(svg(TimelineSamples.timeline, title: "<b>\u{1}&"))
        #expect(reading.error == nil)
        #expect(reading.elements["svg"] == 1)
        #expect(reading.elements["b"] == nil)
        #expect(reading.text.contains("background task export <1> & \"more\""))
        #expect(reading.text.contains("<b>\u{FFFD}&"))
    }

    @Test func `L5: All shapes are inside the picture and wide enough to see`() throws {
        let reading = XMLReading(svg(TimelineSamples.timeline))
        for rectangle in reading.rectangles {
            #expect(rectangle.x >= 0 && rectangle.x + rectangle.width <= 1_280.5, "\(rectangle)")
            let isBand = rectangle.style.hasSuffix("-band")
            #expect(isBand || rectangle.width >= 2, "\(rectangle)")
        }
        // Each span of the device has a bar, and each kind an entry in the legend.
        #expect(reading.rectangles.count { $0.style == "window" } == 2)
        #expect(reading.rectangles.count { $0.style == "dozing" } == 3)
        #expect(reading.rectangles.count { $0.style == "standing" } == 2)
    }

    @Test func `L5: An empty journal gives a valid picture`() {
        let reading = XMLReading(svg(TimelineReader.timeline([], span: TimelineSamples.span)))
        #expect(reading.error == nil)
        #expect(reading.elements["svg"] == 1)
    }

    @Test(
        arguments: [
            (10, 1, 11), (40, 5, 9), (600, 60, 11), (3_600, 300, 13), (9_600, 900, 11), (86_400, 7_200, 13),
            (604_800, 43_200, 15), (6_048_000, 604_800, 11),
        ] as [(Double, Double, Int)])
    func `L5: The axis has few ticks, at round times`(seconds: Double, step: Double, count: Int) {
        // The start is a Monday at midnight. Steps of a week since 1970, which began on a Thursday, would miss it.
        let start = Date(timeIntervalSince1970: 1_767_571_200)
        let axis = TimeAxis(start: start, end: start.addingTimeInterval(seconds), timeZone: .gmt)
        #expect(axis.step == step)
        #expect(abs(axis.ticks.count - count) <= 1)
        #expect(axis.ticks.allSatisfy { $0.date >= start && $0.date <= axis.end })
    }

    @Test func `L5: The axis labels each new day, in the local time zone`() throws {
        let zone = try #require(TimeZone(secondsFromGMT: 3_600))
        let start = Date(timeIntervalSince1970: 1_767_571_200 + 20 * 3_600)
        let ticks = TimeAxis(start: start, end: start.addingTimeInterval(6 * 3_600), timeZone: zone).ticks
        #expect(ticks.first?.label == "21:00")
        #expect(ticks.compactMap(\.day) == ["Mon 5 Jan", "Tue 6 Jan"])
        #expect(ticks.first { $0.day == "Tue 6 Jan" }?.label == "00:00")
    }

    @Test(arguments: [
        (0.0, "0"), (1.5, "1.5"), (1.25, "1.25"), (1.256, "1.26"), (-0.5, "-0.5"), (1.049, "1.05"), (7, "7"),
    ])
    func `L5: Numbers have few digits`(value: Double, text: String) {
        #expect(SVGDocument.number(value) == text)
    }
}

/// The elements of a picture as an XML parser reads them.
private final class XMLReading: NSObject, XMLParserDelegate {
    private(set) var elements: [String: Int] = [:]
    private(set) var rectangles: [(style: String, x: Double, width: Double)] = []
    private(set) var text = ""
    private(set) var error: (any Error)?

    init(_ document: String) {
        super.init()
        let parser = XMLParser(data: Data(document.utf8))
        parser.delegate = self
        if !parser.parse() { error = parser.parserError ?? CocoaError(.fileReadCorruptFile) }
    }

    func parser(
        _ parser: XMLParser, didStartElement name: String, namespaceURI: String?, qualifiedName: String?,
        attributes: [String: String]
    ) {
        elements[name, default: 0] += 1
        guard name == "rect", let style = attributes["class"] else { return }
        rectangles.append(
            (style, Double(attributes["x"] ?? "") ?? -1, Double(attributes["width"] ?? "") ?? -1))
    }

    func parser(_ parser: XMLParser, foundCharacters string: String) {
        text += string
    }
}
