/// The address of a running page. `nightshiftd page` writes it for the program that started it.
package struct PageAddress: Hashable, Sendable, Codable {
    /// A URL that gives access to one browser and works once.
    package var url: String
    package var processID: Int32

    package init(url: String, processID: Int32) {
        self.url = url
        self.processID = processID
    }
}
