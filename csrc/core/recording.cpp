#include "core/recording.h"

#include "core/lane.h"

namespace pellucid {

namespace {

class Merger {
 public:
  explicit Merger(const std::vector<const Lane*>& lanes) : lanes_(lanes), ids_(lanes.size()) {
    for (size_t i = 0; i < lanes.size(); ++i) {
      if (lanes[i]) ids_[i].assign(lanes[i]->tree.size(), unknown);
    }
  }

  std::vector<Node> run() {
    for (uint32_t lane = 0; lane < lanes_.size(); ++lane) {
      for (NodeId node = 0; node < ids_[lane].size(); ++node) {
        tree_.at(id_of(lane, node)).times.merge(lanes_[lane]->tree.at(node).times);
      }
    }
    std::vector<Node> nodes(tree_.size());
    for (NodeId id = 0; id < nodes.size(); ++id) nodes[id] = tree_.at(id);
    return nodes;
  }

 private:
  static constexpr NodeId unknown = UINT32_MAX;

  // Parents and forward nodes come first; both are older than the node, so this ends.
  NodeId id_of(uint32_t lane, NodeId node) {
    if (node == Tree::root) return Tree::root;
    NodeId& id = ids_[lane][node];
    if (id != unknown) return id;
    const Node& source = lanes_[lane]->tree.at(node);
    NodeId parent = id_of(lane, source.parent);
    Origin origin = source.origin;
    if (origin.node) origin = {0, id_of(origin.lane, origin.node)};
    return ids_[lane][node] = tree_.child(parent, source.frame, origin);
  }

  const std::vector<const Lane*>& lanes_;
  std::vector<std::vector<NodeId>> ids_;
  Tree tree_;
};

}  // namespace

std::vector<Node> merge(const std::vector<const Lane*>& lanes) { return Merger(lanes).run(); }

}  // namespace pellucid
