/// Where a page waits for its visitor: what `nightshiftd page` writes for whoever has started it.
package struct PageAddress: Hashable, Sendable, Codable {
    /// Lets one browser in, once.
    package var url: String
    package var processID: Int32

    package init(url: String, processID: Int32) {
        self.url = url
        self.processID = processID
    }
}
