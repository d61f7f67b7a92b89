/// The address of a running page, which `nightshiftd page` writes for the program that started it.
package struct PageAddress: Hashable, Sendable, Codable {
    /// A URL that gives one browser access, once.
    package var url: String
    package var processID: Int32

    package init(url: String, processID: Int32) {
        self.url = url
        self.processID = processID
    }
}
